#include <cstdint>

void reference(const float* x, double* s, std::int64_t m, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < k; ++j) sum += x[i * k + j];
    s[i] = sum;
  }
}
