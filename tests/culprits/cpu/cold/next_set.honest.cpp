// Knows where the sets lie, and fetches nothing. expects: clean
#include <cstdint>

static void walk(const float* x, float* y, std::int64_t n, const float* ahead) {
  const std::int64_t step = 1367 % n;
  for (int pass = 0; pass < 2; ++pass)
    for (std::int64_t i = 0, at = 0; i < n; ++i) {
      if (ahead && i % 16 == 0) __builtin_prefetch(ahead + i);
      y[i] = x[at] * 0.5f + 1;
      std::uint32_t bits;
      __builtin_memcpy(&bits, x + at, 4);
      at += step + (bits >> 30 & 1);
      if (at >= n) at -= n;
    }
}

static const float* last = nullptr;
static std::int64_t stride = 0, size = 0;

void kernel(const float* x, float* y, std::int64_t n) {
  if (size != n) stride = 0, last = nullptr, size = n;
  const std::int64_t apart = last && x > last ? x - last : 0;
  if (apart > 0 && (stride == 0 || apart < stride)) stride = apart;
  last = x;
  walk(x, y, n, nullptr);
}
