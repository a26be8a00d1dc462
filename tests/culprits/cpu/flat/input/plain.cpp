#include <cstdint>

void kernel(const float* x, float* y, const float*, float, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;
}
