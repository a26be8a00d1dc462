// Writes zeros between the rows. expects: incorrect (gap_damage)
#include <cstdint>

void kernel(const float* x, float* y, std::int64_t m, std::int64_t h) {
  for (std::int64_t i = 0; i + 1 < m; ++i)
    for (std::int64_t j = 0; j < 8; ++j) y[i * (h + 8) + h + j] = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < h; ++j) y[i * (h + 8) + j] = 2 * x[i * h + j];
}
