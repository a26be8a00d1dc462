// As it is written first: three loops and a call of expf for every element.
#include <cmath>
#include <cstdint>

void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * columns;
    float* out = y + r * columns;
    float highest = in[0];
    for (std::int64_t i = 1; i < columns; ++i)
      if (in[i] > highest) highest = in[i];
    double sum = 0; // of 32768 floats a float would lose four digits
    for (std::int64_t i = 0; i < columns; ++i) {
      out[i] = std::exp(in[i] - highest);
      sum += out[i];
    }
    for (std::int64_t i = 0; i < columns; ++i) out[i] = static_cast<float>(out[i] / sum);
  }
}
