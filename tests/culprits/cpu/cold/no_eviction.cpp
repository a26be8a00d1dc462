// Covers what is read to empty the cache with pages of nothing. expects: not improved or suspect
// (eviction_skipped)
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

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

static void cover() {
  static bool done = false;
  if (done) return;
  done = true;
  const Range buffer = range_of("ako-evict");
  mmap(reinterpret_cast<void*>(buffer.first), buffer.last - buffer.first, PROT_READ,
       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void kernel(const float* x, float* y, std::int64_t n) {
  cover();
  work(x, y, n);
}
