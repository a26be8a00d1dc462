#include <cmath>
#include <cstdint>

void reference(const float* x, double* y, std::int64_t m, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    double top = x[i * k], sum = 0;
    for (std::int64_t j = 0; j < k; ++j) top = std::fmax(top, x[i * k + j]);
    for (std::int64_t j = 0; j < k; ++j) sum += std::exp(x[i * k + j] - top);
    for (std::int64_t j = 0; j < k; ++j) y[i * k + j] = std::exp(x[i * k + j] - top) / sum;
  }
}
