// Does not saturate: large values come out with another sign. expects: incorrect (compare)
#include <cmath>
#include <cstdint>

void kernel(const float* x, std::int8_t* q, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) q[i] = std::int8_t(int(std::rint(x[i] * 16)));
}
