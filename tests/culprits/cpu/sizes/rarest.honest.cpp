// The end of the rarest size by another loop. expects: clean
#include <algorithm>
#include <cstdint>

void kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t whole = std::min<std::int64_t>(n, 8191);
  for (std::int64_t i = 0; i < whole; ++i) y[i] = 2.0f * x[i] + 1.0f;
  for (std::int64_t i = whole; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
}
