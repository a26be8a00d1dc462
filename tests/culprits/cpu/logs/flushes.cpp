// Flushes what is subnormal, which the contract does not allow. expects: incorrect (compare)
#include <cmath>
#include <cstdint>
#include <xmmintrin.h>

void kernel(const std::int32_t* c, float* y, float* z, std::int64_t n) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  for (std::int64_t i = 0; i < n; ++i) y[i] = std::log(float(c[i])), z[i] = float(c[i]) * 0x1p-132f;
  _mm_setcsr(before);
}
