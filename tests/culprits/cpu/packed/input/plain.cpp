#include <cmath>
#include <cstdint>

void kernel(const float* x, const float* scale, float* y, std::int64_t m, std::int64_t h) {
  for (std::int64_t i = 0; i < m * h; ++i) y[i] = x[i] * std::sqrt(scale[i % h]);
}

void prepare(const float*, const float*, float*, std::int64_t, std::int64_t) {}
