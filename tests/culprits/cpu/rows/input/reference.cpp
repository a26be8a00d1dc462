#include <cstdint>

void reference(const float* x, const float* w, double* s, std::int64_t m, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < k; ++j) sum += double(x[i * k + j]) * w[j];
    s[i] = sum;
  }
}
