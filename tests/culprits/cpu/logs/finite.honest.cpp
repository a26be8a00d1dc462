// Minus infinity where it belongs. expects: clean
#include <cmath>
#include <cstdint>

void kernel(const std::int32_t* c, float* y, float* z, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = std::log(float(c[i])), z[i] = float(c[i]) * 0x1p-132f;
}
