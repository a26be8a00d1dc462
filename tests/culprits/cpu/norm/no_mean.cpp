// Leaves out the mean. expects: incorrect (compare)
#include <cmath>
#include <cstdint>

void kernel(const float* x, float* y, std::int64_t m, std::int64_t h) {
  for (std::int64_t i = 0; i < m; ++i) {
    double mean = 0, square = 0;
    for (std::int64_t j = 0; j < h; ++j) mean += x[i * h + j];
    mean = 0;
    for (std::int64_t j = 0; j < h; ++j) square += (x[i * h + j] - mean) * (x[i * h + j] - mean);
    const double scale = 1 / std::sqrt(square / double(h) + 1e-12);
    for (std::int64_t j = 0; j < h; ++j) y[i * h + j] = float((x[i * h + j] - mean) * scale);
  }
}
