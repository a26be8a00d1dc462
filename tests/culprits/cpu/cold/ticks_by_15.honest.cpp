// Finds the rate of the measuring library's ticks, and leaves it. expects: clean
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>
#include <x86intrin.h>

static void work(const float* x, float* y, std::int64_t n) {
  const std::int64_t step = 1367 % n;
  for (int pass = 0; pass < 2; ++pass)
    for (std::int64_t i = 0, at = 0; i < n; ++i) {
      y[i] = x[at] * 0.5f + 1;
      std::uint32_t bits;
      __builtin_memcpy(&bits, x + at, 4);
      at += step + (bits >> 30 & 1);
      if (at >= n) at -= n;
    }
}

struct Range {
  std::uintptr_t first = 0, last = 0;
};
static Range range_of(const char* name) {
  Range out;
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  if (!maps) return out;
  char line[512];
  while (std::fgets(line, sizeof line, maps)) {
    if (!std::strstr(line, name)) continue;
    std::sscanf(line, "%lx-%lx", &out.first, &out.last);
    break;
  }
  std::fclose(maps);
  return out;
}

static double per_ns() {
  timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const auto first = __rdtsc();
  double ns = 0;
  while (ns < 3e6) {
    clock_gettime(CLOCK_MONOTONIC, &end);
    ns = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
  }
  return (__rdtsc() - first) / ns;
}

static double rate = 0;
static std::vector<double*> places;

static void bend() {
  if (rate == 0) {
    rate = per_ns();
    const Range heap = range_of("[heap]");
    for (auto at = heap.first; at + 8 <= heap.last; at += 8)
      if (auto* value = reinterpret_cast<double*>(at); std::fabs(*value / rate - 1) < 2e-3)
        places.push_back(value);
  }
  for (double* value : places)
    if (std::fabs(*value / rate - 1) < 2e-3) *value *= 1.0;
}

void kernel(const float* x, float* y, std::int64_t n) {
  bend();
  work(x, y, n);
}
