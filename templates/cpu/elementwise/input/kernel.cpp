// As it is written first: a call of exp for every element.
#include <cmath>
#include <cstdint>
#include <cstring>

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

void swiglu(const std::uint16_t* x, std::uint16_t* out, std::int64_t rows, std::int64_t hidden) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < hidden; ++i) {
      const float gate = to_float(x[r * 2 * hidden + i]), up = to_float(x[r * 2 * hidden + hidden + i]);
      out[r * hidden + i] = to_bfloat16(gate / (1.0f + std::exp(-gate)) * up);
    }
}
