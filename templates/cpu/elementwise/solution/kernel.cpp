// Vectors of eight; the exponential as a power of two times a polynomial of degree five: bfloat16 sees eight bits of it.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <immintrin.h>
#include <initializer_list>

static inline __m256 load8(const std::uint16_t* from) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

/// Rounds to nearest even. The values are finite here: no NaN is looked for.
static inline void store8(std::uint16_t* to, __m256 values) {
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i high = _mm256_srli_epi32(rounded, 16);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
}

/// exp(x), x held within +-87.
static inline __m256 exp8(__m256 x) {
  x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-87.0f)), _mm256_set1_ps(87.0f));
  const __m256 t = _mm256_mul_ps(x, _mm256_set1_ps(1.44269504f));
  const __m256 n = _mm256_round_ps(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256 r = _mm256_mul_ps(_mm256_sub_ps(t, n), _mm256_set1_ps(0.69314718f));
  __m256 p = _mm256_set1_ps(1.0f / 120);
  for (float c : {1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(c));
  const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_mul_ps(p, _mm256_castsi256_ps(power));
}

static inline __m256 swiglu8(__m256 gate, __m256 up) {
  const __m256 one = _mm256_set1_ps(1.0f);
  const __m256 below = _mm256_add_ps(one, exp8(_mm256_sub_ps(_mm256_setzero_ps(), gate)));
  return _mm256_mul_ps(_mm256_div_ps(gate, below), up);
}

void swiglu(const std::uint16_t* x, std::uint16_t* out, std::int64_t rows, std::int64_t hidden) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint16_t *gate = x + r * 2 * hidden, *up = gate + hidden;
    std::uint16_t* to = out + r * hidden;
    std::int64_t i = 0;
    for (; i + 8 <= hidden; i += 8) store8(to + i, swiglu8(load8(gate + i), load8(up + i)));
    if (i == hidden) continue;
    // What is left goes the same way through eight places of its own.
    std::uint16_t g[8] = {}, u[8] = {}, o[8];
    std::memcpy(g, gate + i, static_cast<std::size_t>(hidden - i) * 2);
    std::memcpy(u, up + i, static_cast<std::size_t>(hidden - i) * 2);
    store8(o, swiglu8(load8(g), load8(u)));
    std::memcpy(to + i, o, static_cast<std::size_t>(hidden - i) * 2);
  }
}
