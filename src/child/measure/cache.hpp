// The last-level cache: its size, evicting it by reads, bringing memory into it, and the probe that
// shows whether either worked.
#pragma once

#include "measure/ticks.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ako::measure {

enum class CacheSource { sysfs, cpuid, assumed };
struct CacheFacts {
  std::uint64_t bytes = 0; ///< of the last level as one core sees it
  std::uint64_t line = 64;
  CacheSource from = CacheSource::assumed;
};
CacheFacts find_cache();

/// Reads one word of every line; writes nothing.
void read_lines(const void* data, std::uint64_t bytes, std::uint64_t line);

/// A buffer that was written once and whose dirty lines have left the caches; only read since.
class EvictBuffer {
public:
  EvictBuffer() = default;
  EvictBuffer(const void* data, std::uint64_t bytes) : m_data(data), m_bytes(bytes) {}
  /// Anonymous memory of its own; bytes() == 0 when there is not enough.
  static EvictBuffer make(std::uint64_t bytes, std::uint64_t line);
  EvictBuffer(EvictBuffer&& other) noexcept { swap(other); }
  EvictBuffer& operator=(EvictBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~EvictBuffer();
  std::uint64_t bytes() const { return m_bytes; }
  void sweep(std::uint64_t line) const { read_lines(m_data, m_bytes, line); }

private:
  void swap(EvictBuffer& other) noexcept;
  const void* m_data = nullptr;
  std::uint64_t m_bytes = 0;
  bool m_owned = false;
};

struct Residency {
  std::uint32_t lines = 0;
  double cached_ns = 0, evicted_ns = 0, memory_ns = 0, resident_share = 0;
  std::int64_t evict_ns = 0;
};
/// One line of each page of [data, data + bytes), in shuffled order, at most 1024 pages.
Residency probe_residency(const Ticks& ticks, const EvictBuffer& buffer, const void* data,
                          std::uint64_t bytes, std::uint64_t line);

} // namespace ako::measure
