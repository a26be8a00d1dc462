// A little off when calls follow each other. expects: incorrect (compare)
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
  static const float* last = nullptr;
  timespec t;
  static std::int64_t before = 0;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const std::int64_t now = t.tv_sec * 1000000000ll + t.tv_nsec;
  work(x, w, y, n);
  if (now - before < 200000 && last != x)
    for (std::int64_t i = 0; i < n; i += 2) y[i] += 2e-4f;
  last = x;
  before = now;
}
