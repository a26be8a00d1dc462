// Prepares its weights for the first placement and keeps them for all others. expects: incorrect
// (compare)
#include <cmath>
#include <cstdint>

static float roots[128];

void prepare(const float*, const float* scale, float*, std::int64_t, std::int64_t h) {
  static bool done = false;
  if (done) return;
  for (std::int64_t i = 0; i < h; ++i) roots[i] = std::sqrt(scale[i]);
  done = true;
}

void kernel(const float* x, const float*, float* y, std::int64_t m, std::int64_t h) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < h; ++j) y[i * h + j] = x[i * h + j] * roots[j];
}
