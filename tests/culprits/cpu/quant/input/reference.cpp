#include <cmath>
#include <cstdint>

void reference(const float* x, std::int8_t* q, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    q[i] = std::int8_t(std::fmin(127.0, std::fmax(-127.0, std::nearbyint(double(x[i]) * 16))));
}
