// Takes the rows to lie one behind the other. expects: incorrect (unwritten_elements)
#include <cstdint>

void kernel(const float* x, float* y, std::int64_t m, std::int64_t h) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < h; ++j) y[i * (h + 0) + j] = 2 * x[i * h + j];
}
