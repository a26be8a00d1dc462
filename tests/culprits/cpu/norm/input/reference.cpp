#include <cmath>
#include <cstdint>

void reference(const float* x, double* y, std::int64_t m, std::int64_t h) {
  for (std::int64_t i = 0; i < m; ++i) {
    double mean = 0, square = 0;
    for (std::int64_t j = 0; j < h; ++j) mean += x[i * h + j] / double(h);
    for (std::int64_t j = 0; j < h; ++j)
      square += (x[i * h + j] - mean) * (x[i * h + j] - mean) / double(h);
    for (std::int64_t j = 0; j < h; ++j)
      y[i * h + j] = (x[i * h + j] - mean) / std::sqrt(square + 1e-12);
  }
}
