#include "client/arena.hpp"

#include "protocol/addresses.hpp"

#include <atomic>

namespace ako::client {
namespace {

constexpr auto k_first = protocol::k_first_address, k_last = protocol::k_last_address;
constexpr std::uint64_t k_gap = 2u << 20, k_device_gap = 64u << 20;

std::atomic<std::uint64_t> g_set_apart{k_last - k_first}; ///< in every process so far

std::uint64_t next_address(std::int64_t bytes, std::uint64_t gap, std::uint64_t last,
                           std::atomic<std::uint64_t>& next) {
  const auto step = (static_cast<std::uint64_t>(bytes) + 2 * gap - 1) / gap * gap;
  if (step > last - k_first) last = k_last;
  AKO_CHECK(step < k_last - k_first, "an arena larger than the range for arenas");
  std::uint64_t at = next.load();
  for (;;) {
    const auto begin = at + step > last ? k_first : at;
    if (next.compare_exchange_weak(at, begin + step)) return begin;
  }
}

} // namespace

std::uint64_t next_arena_address(std::int64_t bytes) {
  static std::atomic<std::uint64_t> next{k_first};
  return next_address(bytes, k_gap, k_last, next);
}

std::uint64_t next_device_address(std::int64_t bytes) {
  static std::atomic<std::uint64_t> next{k_first};
  return next_address(bytes, k_device_gap, k_first + g_set_apart.load(), next);
}

void note_set_apart(std::uint64_t bytes) {
  if (bytes == 0) return;
  auto least = g_set_apart.load();
  while (bytes < least && !g_set_apart.compare_exchange_weak(least, bytes)) {
  }
}

const model::BufferPlace* find_place(const model::ArenaPlan& plan, int tensor, int set) {
  const model::BufferPlace* fallback = nullptr;
  bool several = false;
  for (const auto& place : plan.places) {
    if (place.tensor != tensor) continue;
    if (place.set == set) return &place;
    if (place.set == 0) fallback = &place;
    else several = true;
  }
  // A static tensor lies once, at set 0, and belongs to every set of the plan.
  return set >= 0 && set < plan.sets && !several ? fallback : nullptr;
}

bool Arena::has(int tensor, int set) const { return find_place(m_plan, tensor, set) != nullptr; }

std::span<const std::byte> Arena::bytes(int tensor, int set) const {
  const auto* place = find_place(m_plan, tensor, set);
  AKO_CHECK(place, "the arena holds no such buffer");
  return {m_mapping.data() + place->offset, static_cast<std::size_t>(place->bytes)};
}

std::uint64_t Arena::address(int tensor, int set) const {
  const auto* place = find_place(m_plan, tensor, set);
  AKO_CHECK(place, "the arena holds no such buffer");
  return m_plan.address + static_cast<std::uint64_t>(place->offset);
}

} // namespace ako::client
