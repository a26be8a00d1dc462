#include <cstdint>

void kernel(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
}
