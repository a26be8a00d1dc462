// The trusted answer: plain, and in float64.
#include <cstdint>

void scale_add_reference(const float* x, const float* y, double* out, std::int64_t n, float a) {
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = static_cast<double>(a) * static_cast<double>(x[i]) + static_cast<double>(y[i]);
}
