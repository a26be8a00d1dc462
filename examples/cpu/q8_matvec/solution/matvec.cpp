// The kernel as it is written first: dequantise each element, multiply, add.
#include <cstdint>
#include <cstring>

// float16 to float, subnormals included; written out because not every compiler here has a half
// type.
static float widen(std::uint16_t half) {
  std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  std::uint32_t exponent = (half >> 10) & 0x1fu;
  std::uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {
    float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -value : value;
  }
  std::uint32_t bits =
      sign | (exponent == 31 ? 0x7f800000u : (exponent + 112u) << 23) | (fraction << 13);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void matvec(const std::int8_t* quants, const std::uint16_t* scales, const float* x, float* y,
            std::int64_t rows, std::int64_t length) {
  for (std::int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (std::int64_t k = 0; k < length; ++k) {
      float weight =
          static_cast<float>(quants[r * length + k]) * widen(scales[(r * length + k) / 32]);
      sum += weight * x[k];
    }
    y[r] = sum;
  }
}
