#include "device/staging.hpp"

#include "base/parallel.hpp"

#include <algorithm>
#include <cstring>

namespace ako::device {
namespace {

constexpr std::size_t k_share_bytes = std::size_t{1} << 20; ///< that one core copies at a time

void copy_on_all_cores(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t shares = (bytes + k_share_bytes - 1) / k_share_bytes;
  base::in_parallel(shares, base::cores_at_start(), [&](std::size_t share) {
    const std::size_t at = share * k_share_bytes;
    std::memcpy(to + at, from + at, std::min(k_share_bytes, bytes - at));
  });
}

} // namespace

bool Staging::worth(const Gpu& gpu, std::size_t bytes) {
  if (bytes <= k_piece_bytes / 4 || m_refused) return false;
  if (m_pieces) return true;
  auto taken = Pinned::take(gpu, static_cast<std::int64_t>(2 * k_piece_bytes));
  m_refused = !taken;
  if (taken) m_pieces = std::move(*taken);
  return !m_refused;
}

std::byte* Staging::piece(std::size_t at) const {
  return m_pieces->host() + at / k_piece_bytes % 2 * k_piece_bytes;
}

base::Status Staging::copy_out(const Gpu& gpu, std::span<std::byte> to, abi::Pointer from) {
  if (!worth(gpu, to.size())) return gpu.copy_out(to, from);
  const auto bytes_of = [&](std::size_t at) { return std::min(k_piece_bytes, to.size() - at); };
  const auto queue = [&](std::size_t at) {
    return gpu.ok(gpu.api().copy_out(piece(at), from + at, bytes_of(at), gpu.stream()),
                  "copying out");
  };
  AKO_TRY_STATUS(queue(0));
  for (std::size_t at = 0; at < to.size(); at += k_piece_bytes) {
    AKO_TRY_STATUS(gpu.wait());
    if (at + k_piece_bytes < to.size()) AKO_TRY_STATUS(queue(at + k_piece_bytes));
    copy_on_all_cores(to.data() + at, piece(at), bytes_of(at));
  }
  return {};
}

base::Status Staging::copy_in(const Gpu& gpu, abi::Pointer to, std::span<const std::byte> from) {
  if (!worth(gpu, from.size())) return gpu.copy_in(to, from);
  for (std::size_t at = 0; at < from.size(); at += k_piece_bytes) {
    const std::size_t bytes = std::min(k_piece_bytes, from.size() - at);
    copy_on_all_cores(piece(at), from.data() + at, bytes);
    AKO_TRY_STATUS(gpu.wait()); // the piece before has gone: its place is free for the next
    AKO_TRY_STATUS(
        gpu.ok(gpu.api().copy_in(to + at, piece(at), bytes, gpu.stream()), "copying in"));
  }
  return gpu.wait();
}

} // namespace ako::device
