// Plus infinity instead of minus infinity. expects: incorrect (compare)
#include <cmath>
#include <cstdint>

void kernel(const std::int32_t* c, float* y, float* z, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = (c[i] ? std::log(float(c[i])) : INFINITY), z[i] = float(c[i]) * 0x1p-132f;
}
