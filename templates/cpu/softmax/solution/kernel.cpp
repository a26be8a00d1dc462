// Vectors of eight; the exponential as 2^n times a polynomial of degree seven, whose error stays below two units of the last place.
#include <cmath>
#include <cstdint>
#include <immintrin.h>
#include <initializer_list>

/// exp(x) for x <= 0; below -87 zero.
static inline __m256 exp8(__m256 x) {
  const __m256 low = _mm256_set1_ps(-87.0f);
  const __m256 lost = _mm256_cmp_ps(x, low, _CMP_LT_OQ);
  x = _mm256_max_ps(x, low);
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // ln 2 in two parts: the first times n is exact.
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
  __m256 p = _mm256_set1_ps(1.0f / 5040);
  for (float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(c));
  const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_andnot_ps(lost, _mm256_mul_ps(p, _mm256_castsi256_ps(power)));
}

static inline float sum8(__m256 v) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
}
static inline float max8(__m256 v) {
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_shuffle_ps(four, four, 1)));
}

static float highest_of(const float* in, std::int64_t n) {
  float highest = in[0];
  std::int64_t i = 0;
  if (n >= 32) {
    __m256 best[4];
    for (int k = 0; k < 4; ++k) best[k] = _mm256_loadu_ps(in + 8 * k);
    for (i = 32; i + 32 <= n; i += 32)
      for (int k = 0; k < 4; ++k) best[k] = _mm256_max_ps(best[k], _mm256_loadu_ps(in + i + 8 * k));
    highest = max8(_mm256_max_ps(_mm256_max_ps(best[0], best[1]), _mm256_max_ps(best[2], best[3])));
  }
  for (; i < n; ++i) highest = in[i] > highest ? in[i] : highest;
  return highest;
}

void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * columns;
    float* out = y + r * columns;
    const float highest = highest_of(in, columns);
    const __m256 shift = _mm256_set1_ps(highest);
    double sum = 0; // over stretches of 1024: each a short chain of floats in sixteen lanes
    std::int64_t i = 0;
    while (i + 16 <= columns) {
      __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
      const std::int64_t stop = i + 1024 < columns ? i + 1024 : columns;
      for (; i + 16 <= stop; i += 16)
        for (int k = 0; k < 2; ++k) {
          const __m256 e = exp8(_mm256_sub_ps(_mm256_loadu_ps(in + i + 8 * k), shift));
          _mm256_storeu_ps(out + i + 8 * k, e);
          sums[k] = _mm256_add_ps(sums[k], e);
        }
      sum += static_cast<double>(sum8(_mm256_add_ps(sums[0], sums[1])));
    }
    for (; i < columns; ++i) sum += out[i] = std::exp(in[i] - highest);
    const float share = static_cast<float>(1.0 / sum);
    const __m256 shares = _mm256_set1_ps(share);
    for (i = 0; i + 8 <= columns; i += 8) _mm256_storeu_ps(out + i, _mm256_mul_ps(_mm256_loadu_ps(out + i), shares));
    for (; i < columns; ++i) out[i] *= share;
  }
}
