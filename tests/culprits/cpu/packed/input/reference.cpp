#include <cmath>
#include <cstdint>

void reference(const float* x, const float* scale, double* y, std::int64_t m, std::int64_t h) {
  for (std::int64_t i = 0; i < m * h; ++i) y[i] = double(x[i]) * std::sqrt(double(scale[i % h]));
}
