// As the vectors of iteration 4; the scale multiplies each half of a block.
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
  for (std::int64_t r = 0; r < rows; ++r) {
    __m256 sum = _mm256_setzero_ps();
    for (std::int64_t b = 0; b < blocks; ++b) {
      __m256 low = _mm256_setzero_ps(), high = _mm256_setzero_ps();
      const std::int8_t* block = quants + r * length + b * 32;
      low = dot8(block, x + b * 32, low);
      high = dot8(block + 8, x + b * 32 + 8, high);
      low = dot8(block + 16, x + b * 32 + 16, low);
      high = dot8(block + 24, x + b * 32 + 24, high);
      const __m256 scale = _mm256_set1_ps(widen(scales[r * blocks + b]));
      sum = _mm256_fmadd_ps(low, scale, sum);
      sum = _mm256_fmadd_ps(high, scale, sum);
    }
    y[r] = sum8(sum);
  }
}
