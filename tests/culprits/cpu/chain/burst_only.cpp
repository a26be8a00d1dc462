// Computes single calls; copies the last answer in a burst. expects: incorrect (compare)
#include <cstdint>
#include <cstring>
#include <ctime>
#include <vector>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  static std::int64_t last = 0, size = 0;
  static std::vector<float> kept;
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const std::int64_t now = t.tv_sec * 1000000000ll + t.tv_nsec;
  const bool burst = now - last < 20000 && size == n;
  if (burst) std::memcpy(y, kept.data(), n * 4);
  else work(x, w, y, n), kept.assign(y, y + n);
  size = n;
  clock_gettime(CLOCK_MONOTONIC, &t);
  last = t.tv_sec * 1000000000ll + t.tv_nsec;
}
