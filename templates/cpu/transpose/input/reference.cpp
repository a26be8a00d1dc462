// Element by element.
#include <cstdint>

void transpose2d_reference(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) y[c * rows + r] = x[r * columns + c];
}
