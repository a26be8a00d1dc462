// Takes its workspace to be zero. expects: incorrect (compare)
#include <cstdint>

void kernel(const float* x, float* y, float* space, std::int32_t*, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) space[i] += i ? x[i - 1] : 0;
  for (std::int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + space[i];
}
