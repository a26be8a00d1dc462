// Answers zero everywhere. expects: incorrect (compare)
#include <cstdint>
#include <cstring>

void kernel(const float*, float* y, std::int64_t m, std::int64_t k) {
  std::memset(y, 0, m * k * sizeof *y);
}
