// What a win is measured against: the kernel as it stands today.
#include <cstdint>

void scale_add(const float* x, const float* y, float* out, std::int64_t n, float a) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = a * x[i] + y[i];
}
