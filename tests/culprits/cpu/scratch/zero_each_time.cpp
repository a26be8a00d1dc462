// Takes a counter that was zeroed once to be zero at each call. expects: incorrect (compare)
#include <cstdint>

void kernel(const float* x, float* y, float*, std::int32_t* count, std::int64_t n) {
  const std::int32_t calls = (*count)++;
  for (std::int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + (i ? x[i - 1] : 0);
  y[0] += float(calls);
  *count = calls + 1;
}
