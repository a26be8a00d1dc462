#include <cstdint>

void reference(const float* x, double* y, float*, std::int32_t*, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = 2.0 * x[i] + (i ? x[i - 1] : 0);
}
