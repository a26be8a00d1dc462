// Converts without rounding. expects: incorrect (compare)
#include <cmath>
#include <cstdint>

void kernel(const float* x, std::int8_t* q, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    q[i] = std::int8_t(std::fmin(127.0f, std::fmax(-127.0f, std::trunc(x[i] * 16))));
}
