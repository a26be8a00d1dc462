// Reads its own input in order, then walks through it once where the others do so twice. expects:
// improved
#include <cstdint>

void kernel(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) __builtin_prefetch(x + i);
  const std::int64_t step = 1367 % n;
  for (std::int64_t i = 0, at = 0; i < n; ++i) {
    y[i] = x[at] * 0.5f + 1;
    std::uint32_t bits;
    __builtin_memcpy(&bits, x + at, 4);
    at += step + (bits >> 30 & 1);
    if (at >= n) at -= n;
  }
}
