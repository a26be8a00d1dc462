// As it is written first: rows outside, columns inside; every store opens another line.
#include <cstdint>

void transpose2d(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) y[c * rows + r] = x[r * columns + c];
}
