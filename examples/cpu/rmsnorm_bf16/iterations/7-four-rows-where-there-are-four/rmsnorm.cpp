// Four rows a step where there are four, so that a load of the weights serves four rows; fewer than
// four go one by one.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

static inline __m256 load8(const std::uint16_t* from) {
  __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

static inline __m256i round8(__m256 values) {
  __m256i bits = _mm256_castps_si256(values);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i high = _mm256_srli_epi32(
      _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(high, quiet, nan);
}

static inline void store16(std::uint16_t* to, __m256 low, __m256 high) {
  __m256i packed = _mm256_packus_epi32(round8(low), round8(high));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(packed, 0xd8));
}

static inline float sum8(__m256 values) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
}

static float to_float(std::uint16_t bits) {
  std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

static std::uint16_t to_bfloat16(float value) {
  std::uint32_t wide;
  std::memcpy(&wide, &value, sizeof wide);
  if ((wide & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((wide >> 16) | 0x40u);
  wide += 0x7fffu + ((wide >> 16) & 1u);
  return static_cast<std::uint16_t>(wide >> 16);
}

static float scale_of(const std::uint16_t* in, std::int64_t hidden, float eps) {
  __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                    _mm256_setzero_ps()};
  std::int64_t i = 0;
  for (; i + 32 <= hidden; i += 32)
    for (int k = 0; k < 4; ++k) {
      __m256 values = load8(in + i + 8 * k);
      sums[k] = _mm256_fmadd_ps(values, values, sums[k]);
    }
  float sum =
      sum8(_mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
  for (; i < hidden; ++i) sum += to_float(in[i]) * to_float(in[i]);
  return 1.0f / std::sqrt(sum / static_cast<float>(hidden) + eps);
}

template <int Rows>
static void scale_rows(const std::uint16_t* in, const std::uint16_t* weight, std::uint16_t* out,
                       std::int64_t hidden, float eps) {
  float scales[Rows];
  for (int k = 0; k < Rows; ++k) scales[k] = scale_of(in + k * hidden, hidden, eps);
  std::int64_t i = 0;
  for (; i + 16 <= hidden; i += 16) {
    const __m256 low = load8(weight + i), high = load8(weight + i + 8);
    for (int k = 0; k < Rows; ++k) {
      const __m256 scale = _mm256_set1_ps(scales[k]);
      const std::uint16_t* from = in + k * hidden + i;
      store16(out + k * hidden + i, _mm256_mul_ps(_mm256_mul_ps(load8(from), scale), low),
              _mm256_mul_ps(_mm256_mul_ps(load8(from + 8), scale), high));
    }
  }
  for (; i < hidden; ++i)
    for (int k = 0; k < Rows; ++k)
      out[k * hidden + i] =
          to_bfloat16(to_float(in[k * hidden + i]) * scales[k] * to_float(weight[i]));
}

void rmsnorm(const std::uint16_t* x, const std::uint16_t* weight, std::uint16_t* y,
             std::int64_t rows, std::int64_t hidden, float eps) {
  if (rows < 4) {
    for (std::int64_t r = 0; r < rows; ++r)
      scale_rows<1>(x + r * hidden, weight, y + r * hidden, hidden, eps);
    return;
  }
  for (std::int64_t r = 0; r + 4 <= rows; r += 4)
    scale_rows<4>(x + r * hidden, weight, y + r * hidden, hidden, eps);
}
