#include <cstdint>

void kernel(const float* x, float* y, std::int64_t m, std::int64_t h) {
  for (std::int64_t i = 0; i < m; ++i) {
    std::int64_t low = 0, high = h;
    for (std::int64_t j = 0; j < h; ++j) {
      const float value = x[i * h + j];
      y[i * h + (value < 0 ? low++ : --high)] = value;
    }
  }
}
