// Writes only where the buffer holds no number. expects: incorrect (compare)
#include <cstdint>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (!(y[i] == y[i])) work(x + i, w + i % 64, y + i, 1);
}
