#include <cstdint>

void reference(const float* x, double* q, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) q[i] = x[i];
}
