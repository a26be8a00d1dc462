#include "ledger/wal.hpp"

#include "base/fs.hpp"

#include <array>

namespace ako::ledger {

namespace {

constexpr std::size_t k_header = 32, k_frame_head = 24;
constexpr std::uint32_t k_magic =
    0x377f0682; // its lowest bit says that checks read big-endian words

std::uint32_t big(std::string_view at) {
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(at[i])}; };
  return byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
}
std::uint32_t little(std::string_view at) {
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(at[i])}; };
  return byte(3) << 24 | byte(2) << 16 | byte(1) << 8 | byte(0);
}

/// The running check of the log: two sums that feed each other, over pairs of words.
struct Check {
  bool big_words = false;
  std::uint32_t first = 0, second = 0;
  void add(std::string_view bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      const std::string_view pair = bytes.substr(at, 8);
      first += (big_words ? big(pair) : little(pair)) + second;
      second += (big_words ? big(pair.substr(4)) : little(pair.substr(4))) + first;
    }
  }
  bool matches(std::string_view stored) const {
    return big(stored) == first && big(stored.substr(4)) == second;
  }
};

} // namespace

WalTail wal_tail(std::string_view log) {
  WalTail tail;
  if (log.empty()) return tail;
  const auto size = static_cast<std::int64_t>(log.size());
  if (log.size() < k_header || (big(log) & ~1u) != k_magic) {
    tail.loose_bytes = size;
    return tail;
  }
  Check check{.big_words = (big(log) & 1u) != 0};
  check.add(log.substr(0, 24));
  if (!check.matches(log.substr(24))) {
    tail.loose_bytes = size;
    return tail;
  }
  const std::size_t page = big(log.substr(8));
  const std::string_view salts = log.substr(16, 8);
  std::size_t at = k_header, committed_end = k_header, ours_end = k_header;
  std::int64_t frames = 0;
  // Frames of an earlier round carry other salts: they are left over from before, not from a cut
  // append.
  while (at < log.size()) {
    const std::string_view head = log.substr(at, k_frame_head);
    const bool ours = head.size() >= 16 && head.substr(8, 8) == salts;
    if (head.size() >= 16 && !ours) break;
    ours_end = std::min(log.size(), at + k_frame_head + page);
    if (log.size() < at + k_frame_head + page) break;
    check.add(head.substr(0, 8));
    check.add(log.substr(at + k_frame_head, page));
    if (!check.matches(head.substr(16))) break;
    at += k_frame_head + page;
    ++frames;
    if (big(head.substr(4)) != 0) {
      committed_end = at;
      tail.committed_frames = frames;
    }
  }
  tail.loose_bytes = static_cast<std::int64_t>(ours_end - committed_end);
  return tail;
}

base::Expected<WalTail> inspect_wal(const std::filesystem::path& ledger) {
  const std::filesystem::path log = ledger.string() + "-wal";
  std::error_code error;
  const auto bytes = std::filesystem::file_size(log, error);
  if (error || bytes == 0) return WalTail{};
  AKO_TRY(const std::string content, base::read_file(log, std::uint64_t{4} << 30));
  return wal_tail(content);
}

} // namespace ako::ledger
