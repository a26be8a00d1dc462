// Copies its input, which is nearly normal already. expects: incorrect (compare)
#include <cstdint>
#include <cstring>

void kernel(const float* x, float* y, std::int64_t m, std::int64_t h) {
  std::memcpy(y, x, m * h * sizeof *y);
}
