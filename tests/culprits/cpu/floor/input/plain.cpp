#include <cstdint>

void kernel(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 4000; ++k) v = v * 0.9999f + 0.0001f;
    y[i] = v;
  }
}
