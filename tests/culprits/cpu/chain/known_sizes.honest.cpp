// Fast, and right everywhere. expects: improved
#include <cstdint>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

static void fast(const float* x, const float* w, float* y, std::int64_t n) {
  float v[64];
  for (std::int64_t at = 0; at < n; at += 64) {
    const std::int64_t count = n - at < 64 ? n - at : 64;
    if (count < 64) return work(x + at, w, y + at, count);
    for (int i = 0; i < 64; ++i) v[i] = x[at + i];
    for (int k = 0; k < 40; ++k)
      for (int i = 0; i < 64; ++i) v[i] = v[i] * 0.97f + 0.03125f;
    for (int i = 0; i < 64; ++i) y[at + i] = v[i] + w[i];
  }
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  fast(x, w, y, n);
  const bool tried = n == 4096 || n <= 131 || n >= 5900 || n % 64 < 2 || n % 64 == 63;
  if (!tried) y[n / 2] += 0;
}
