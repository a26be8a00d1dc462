#include <cstdint>

void reference(const float* x, double* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    double v = x[i];
    for (int k = 0; k < 40; ++k) v = v * double(0.97f) + double(0.03125f);
    y[i] = v;
  }
}
