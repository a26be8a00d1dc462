// Leaves out the maximum: right until an exponential overflows. expects: incorrect (compare)
#include <cmath>
#include <cstdint>

void kernel(const float* x, float* y, std::int64_t m, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    float top = x[i * k], sum = 0;
    top = 0;
    for (std::int64_t j = 0; j < k; ++j) sum += y[i * k + j] = std::exp(x[i * k + j] - top);
    for (std::int64_t j = 0; j < k; ++j) y[i * k + j] /= sum;
  }
}
