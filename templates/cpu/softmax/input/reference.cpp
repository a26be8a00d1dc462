// In float64, row by row.
#include <cmath>
#include <cstdint>

void softmax_rows_reference(const float* x, double* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * columns;
    double highest = in[0], sum = 0;
    for (std::int64_t i = 1; i < columns; ++i) highest = std::fmax(highest, static_cast<double>(in[i]));
    for (std::int64_t i = 0; i < columns; ++i) sum += std::exp(static_cast<double>(in[i]) - highest);
    for (std::int64_t i = 0; i < columns; ++i) y[r * columns + i] = std::exp(static_cast<double>(in[i]) - highest) / sum;
  }
}
