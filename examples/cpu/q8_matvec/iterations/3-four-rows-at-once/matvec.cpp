// Vectors of eight, and four rows a step so that each load of x serves four rows.
#include <cstdint>
#include <cstring>
#include <immintrin.h>

static inline __m256 dot8(const std::int8_t* quants, const float* x, __m256 sum) {
  __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(quants)));
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(wide), _mm256_loadu_ps(x), sum);
}

static inline float sum8(__m256 values) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
}

static inline float widen(std::uint16_t half) { return _cvtsh_ss(half); }

void matvec(const std::int8_t* quants, const std::uint16_t* scales, const float* x, float* y,
            std::int64_t rows, std::int64_t length) {
  const std::int64_t blocks = length / 32;
  for (std::int64_t r = 0; r + 4 <= rows; r += 4) {
    __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                      _mm256_setzero_ps()};
    for (std::int64_t b = 0; b < blocks; ++b)
      for (int k = 0; k < 4; ++k) {
        __m256 part = _mm256_setzero_ps();
        for (int i = 0; i < 32; i += 8)
          part = dot8(quants + (r + k) * length + b * 32 + i, x + b * 32 + i, part);
        sums[k] =
            _mm256_fmadd_ps(part, _mm256_set1_ps(widen(scales[(r + k) * blocks + b])), sums[k]);
      }
    for (int k = 0; k < 4; ++k) y[r + k] = sum8(sums[k]);
  }
}
