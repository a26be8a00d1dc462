// A block at a time: sixteen bytes are split into two halves of nibbles, widened eight at a time and scaled.
#include <cstdint>
#include <immintrin.h>

static inline __m256 scaled(__m128i bytes, __m256 factor) {
  return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), factor);
}

void dequant_q4(const std::uint8_t* packed, const float* scale, float* out, std::int64_t rows, std::int64_t depth) {
  const __m128i mask = _mm_set1_epi8(15), middle = _mm_set1_epi8(8);
  for (std::int64_t block = 0; block < rows * depth / 32; ++block) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(packed + block * 16));
    const __m128i low = _mm_sub_epi8(_mm_and_si128(bytes, mask), middle);
    const __m128i high = _mm_sub_epi8(_mm_and_si128(_mm_srli_epi16(bytes, 4), mask), middle);
    const __m256 factor = _mm256_set1_ps(scale[block]);
    float* to = out + block * 32;
    _mm256_storeu_ps(to, scaled(low, factor));
    _mm256_storeu_ps(to + 8, scaled(_mm_srli_si128(low, 8), factor));
    _mm256_storeu_ps(to + 16, scaled(high, factor));
    _mm256_storeu_ps(to + 24, scaled(_mm_srli_si128(high, 8), factor));
  }
}
