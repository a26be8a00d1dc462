// Blocks of 8 by 8 turned in registers, walked in squares of 64 so that lines on both sides stay in the first-level cache.
#include <algorithm>
#include <cstdint>
#include <immintrin.h>

static inline void turn8(const float* x, std::int64_t columns, float* y, std::int64_t rows) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(x + i * columns);
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) {
      r[4 * i + 2 * k] = _mm256_shuffle_ps(t[4 * i + k], t[4 * i + 2 + k], 0x44);
      r[4 * i + 2 * k + 1] = _mm256_shuffle_ps(t[4 * i + k], t[4 * i + 2 + k], 0xee);
    }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(y + i * rows, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(y + (i + 4) * rows, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

void transpose2d(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t k_square = 64;
  const std::int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
  for (std::int64_t r0 = 0; r0 < whole_rows; r0 += k_square)
    for (std::int64_t c0 = 0; c0 < whole_columns; c0 += k_square)
      for (std::int64_t c = c0; c < std::min(c0 + k_square, whole_columns); c += 8)
        for (std::int64_t r = r0; r < std::min(r0 + k_square, whole_rows); r += 8)
          turn8(x + r * columns + c, columns, y + c * rows + r, rows);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) y[c * rows + r] = x[r * columns + c];
}
