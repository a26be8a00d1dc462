#include "measure/ticks.hpp"

#include <algorithm>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ako::measure {

std::int64_t raw_clock_ns(int clock_id) {
  timespec now{};
#if defined(__x86_64__)
  long result = SYS_clock_gettime;
  asm volatile("syscall" : "+a"(result) : "D"(clock_id), "S"(&now) : "rcx", "r11", "memory");
#else
  syscall(SYS_clock_gettime, clock_id, &now);
#endif
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool has_steady_ticks() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx)) return false;
  return (edx & (1u << 8)) != 0; // invariant counter
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

Ticks::Ticks() : m_counter(has_steady_ticks()) {
  if (m_counter) {
    m_start = anchor();
    while (raw_clock_ns(CLOCK_MONOTONIC) - m_start.ns < 5'000'000) {
      timespec nap{0, 500'000};
      nanosleep(&nap, nullptr);
    }
    refine();
  }
  measure_overhead();
}

// The pair whose system call was the shortest: the closest that the two clocks were read together.
Ticks::Anchor Ticks::anchor() const {
  Anchor best;
  std::uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < 9; ++i) {
    const auto before = read_counter();
    const auto ns = raw_clock_ns(CLOCK_MONOTONIC);
    const auto after = read_counter();
    if (after - before < narrowest) {
      narrowest = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

void Ticks::refine() {
  if (!m_counter) return;
  const auto elapsed = raw_clock_ns(CLOCK_MONOTONIC) - m_start.ns;
  if (elapsed < 2 * m_span_ns || elapsed < 1'000'000) return; // not much better than what is known
  const auto end = anchor();
  if (end.ns <= m_start.ns || end.ticks <= m_start.ticks) return;
  m_per_ns =
      static_cast<double>(end.ticks - m_start.ticks) / static_cast<double>(end.ns - m_start.ns);
  m_span_ns = end.ns - m_start.ns;
}

void Ticks::measure_overhead() {
  std::vector<double> empty(2001);
  for (auto& value : empty) {
    const auto begin = now();
    const auto end = now();
    value = to_ns(end - begin);
  }
  std::sort(empty.begin(), empty.end());
  m_overhead_ns = empty[empty.size() / 2];
  m_noise_ns = empty[empty.size() * 95 / 100] - m_overhead_ns;
}

namespace {

// A register addend: an immediate one may be folded away by the renamer of newer cores.
std::uint64_t add_chain(std::uint64_t value, std::uint64_t addend, int rounds) {
  for (int i = 0; i < rounds; ++i) {
#if defined(__x86_64__)
#define AKO_ADD8                                                                                   \
  "add %1,%0\n\tadd %1,%0\n\tadd %1,%0\n\tadd %1,%0\n\tadd %1,%0\n\tadd %1,%0\n\tadd %1,%0\n\t"    \
  "add %1,%0\n\t"
    asm volatile(AKO_ADD8 AKO_ADD8 AKO_ADD8 AKO_ADD8 AKO_ADD8 AKO_ADD8 AKO_ADD8 AKO_ADD8
                 : "+r"(value)
                 : "r"(addend));
#undef AKO_ADD8
#else
    for (int k = 0; k < 64; ++k) {
      value += addend;
      asm volatile("" : "+r"(value));
    }
#endif
  }
  return value;
}

} // namespace

double core_clock(const Ticks& ticks, std::int64_t ns) {
  constexpr int k_rounds = 1000; // 64,000 additions: some 20 us
  double best = 0;
  std::uint64_t value = 1;
  const auto end_at = raw_clock_ns(CLOCK_MONOTONIC) + ns;
  do {
    const auto begin = ticks.now();
    value = add_chain(value, value | 1, k_rounds);
    const auto end = ticks.now();
    const double took = ticks.to_ns(end - begin) - ticks.overhead_ns();
    if (took > 0) best = std::max(best, 64.0 * k_rounds / took);
  } while (raw_clock_ns(CLOCK_MONOTONIC) < end_at);
  asm volatile("" : : "r"(value));
  return best;
}

} // namespace ako::measure
