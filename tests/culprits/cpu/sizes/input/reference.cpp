#include <cstdint>

void reference(const float* x, double* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = 2.0 * x[i] + 1.0;
}
