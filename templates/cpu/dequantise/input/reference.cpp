// In float64. Of a block's sixteen bytes the low halves are values 0 to 15, the high halves 16 to 31.
#include <cstdint>

void dequant_q4_reference(const std::uint8_t* packed, const float* scale, double* out, std::int64_t rows,
                          std::int64_t depth) {
  for (std::int64_t block = 0; block < rows * depth / 32; ++block)
    for (int i = 0; i < 16; ++i) {
      const int byte = packed[block * 16 + i];
      out[block * 32 + i] = ((byte & 15) - 8) * static_cast<double>(scale[block]);
      out[block * 32 + 16 + i] = ((byte >> 4) - 8) * static_cast<double>(scale[block]);
    }
}
