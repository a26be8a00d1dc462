// Time without libc: the processor's counter, calibrated, and the kernel's clock by a system call,
// so that a library which defines clock_gettime changes nothing here.
#pragma once

#include <cstdint>

namespace ako::measure {

std::int64_t raw_clock_ns(int clock_id); ///< by system call; CLOCK_MONOTONIC never jumps
bool has_steady_ticks(); ///< the counter runs at one rate, whatever the core's clock

#if defined(__x86_64__)
inline std::uint64_t read_counter() {
  std::uint32_t low, high;
  // Fences on both sides: nothing timed may slip out of the interval.
  asm volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
  return (std::uint64_t{high} << 32) | low;
}
#elif defined(__aarch64__)
inline std::uint64_t read_counter() {
  std::uint64_t value;
  asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(value) : : "memory");
  return value;
}
#else
inline std::uint64_t read_counter() { return 0; }
#endif

/// A tick source with its rate and its own cost.
class Ticks {
public:
  /// Calibrates for about 5 ms.
  Ticks();
  std::uint64_t now() const {
    return m_counter ? read_counter() : static_cast<std::uint64_t>(raw_clock_ns(1));
  }
  double to_ns(std::uint64_t ticks) const { return static_cast<double>(ticks) / m_per_ns; }
  double per_ns() const { return m_per_ns; }
  bool from_counter() const { return m_counter; }
  double overhead_ns() const { return m_overhead_ns; }
  double noise_ns() const { return m_noise_ns; }
  /// The longer the time since the start, the better the rate is known.
  void refine();

private:
  struct Anchor {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
  };
  Anchor anchor() const;
  void measure_overhead();
  bool m_counter = false;
  double m_per_ns = 1;
  double m_overhead_ns = 0, m_noise_ns = 0;
  Anchor m_start;
  std::int64_t m_span_ns = 0;
};

/// Additions per ns of a dependent chain, best of short runs within about `ns`.
double core_clock(const Ticks& ticks, std::int64_t ns);

} // namespace ako::measure
