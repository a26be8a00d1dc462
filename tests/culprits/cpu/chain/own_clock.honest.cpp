// Looks at the clock. expects: clean
#include <cstdint>
#include <ctime>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  work(x, w, y, n);
}
