#include <cstdint>

void reference(const float* x, const float* b, double* y, std::int64_t m, std::int64_t h) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < h; ++j) y[i * h + j] = double(x[i * h + j]) + b[j];
}
