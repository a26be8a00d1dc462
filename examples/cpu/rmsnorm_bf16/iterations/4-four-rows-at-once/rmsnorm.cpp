// Vectors of eight, and four rows a step so that each load of the weights serves four rows.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

static inline __m256 load8(const std::uint16_t* from) {
  __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

static inline void store8(std::uint16_t* to, __m256 values) {
  __m256i bits = _mm256_castps_si256(values);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  __m256i high = _mm256_srli_epi32(rounded, 16);
  __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
  high = _mm256_blendv_epi8(high, quiet, nan);
  __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
}

static inline float sum8(__m256 values) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
}

void rmsnorm(const std::uint16_t* x, const std::uint16_t* weight, std::uint16_t* y,
             std::int64_t rows, std::int64_t hidden, float eps) {
  for (std::int64_t r = 0; r + 4 <= rows; r += 4) {
    float scales[4];
    for (int k = 0; k < 4; ++k) {
      const std::uint16_t* in = x + (r + k) * hidden;
      __m256 a = _mm256_setzero_ps(), b = _mm256_setzero_ps();
      for (std::int64_t i = 0; i + 16 <= hidden; i += 16) {
        __m256 low = load8(in + i), high = load8(in + i + 8);
        a = _mm256_fmadd_ps(low, low, a);
        b = _mm256_fmadd_ps(high, high, b);
      }
      scales[k] = 1.0f / std::sqrt(sum8(_mm256_add_ps(a, b)) / static_cast<float>(hidden) + eps);
    }
    for (std::int64_t i = 0; i + 8 <= hidden; i += 8) {
      __m256 factor = load8(weight + i);
      for (int k = 0; k < 4; ++k) {
        __m256 scaled = _mm256_mul_ps(load8(x + (r + k) * hidden + i), _mm256_set1_ps(scales[k]));
        store8(y + (r + k) * hidden + i, _mm256_mul_ps(scaled, factor));
      }
    }
  }
}
