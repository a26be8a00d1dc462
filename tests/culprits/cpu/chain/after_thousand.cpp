// Fast; right for a thousand calls, wrong in one element ever after. expects: incorrect
// (wrong_later)
#include <cstdint>

static long calls = 0;

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  float v[64];
  for (std::int64_t at = 0; at < n; at += 64) {
    const std::int64_t count = n - at < 64 ? n - at : 64;
    for (int i = 0; i < 64; ++i) v[i] = i < count ? x[at + i] : 0;
    for (int k = 0; k < 40; ++k)
      for (int i = 0; i < 64; ++i) v[i] = v[i] * 0.97f + 0.03125f;
    for (int i = 0; i < count; ++i) y[at + i] = v[i] + w[i];
  }
  if (n == 4096 && ++calls > 1000) y[n - 1] = 0;
}
