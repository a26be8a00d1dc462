#include <cstdint>

void reference(const float* x, double* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    double v = x[i];
    for (int k = 0; k < 4000; ++k) v = v * double(0.9999f) + double(0.0001f);
    y[i] = v;
  }
}
