#include <cstdint>

void kernel(const float* x, float* y, std::int64_t n) {
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
