// As it is written first.
#include <cstdint>

void dequant_q4(const std::uint8_t* packed, const float* scale, float* out, std::int64_t rows, std::int64_t depth) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t block = r * (depth / 32) + k / 32;
      const std::uint8_t byte = packed[block * 16 + k % 16];
      const int value = k % 32 < 16 ? byte & 15 : byte >> 4;
      out[r * depth + k] = static_cast<float>(value - 8) * scale[block];
    }
}
