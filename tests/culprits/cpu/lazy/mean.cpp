// Answers the mean everywhere. expects: incorrect (compare)
#include <cstdint>

void kernel(const float*, float* y, std::int64_t m, std::int64_t k) {
  for (std::int64_t i = 0; i < m * k; ++i) y[i] = 1.0f / k;
}
