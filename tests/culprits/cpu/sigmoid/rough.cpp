// Takes the reciprocal with twelve bits. expects: incorrect (compare)
#include <cmath>
#include <cstdint>
#include <immintrin.h>

void kernel(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float d = 1.0f + std::exp(-x[i]);
    const float r = _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(d)));
    y[i] = r;
  }
}
