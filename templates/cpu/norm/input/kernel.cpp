// The kernel as it is written first: clear, two loops a row, one running sum.
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

void rmsnorm(const std::uint16_t* x, const std::uint16_t* weight, std::uint16_t* y,
             std::int64_t rows, std::int64_t hidden, float eps) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint16_t* in = x + r * hidden;
    std::uint16_t* out = y + r * hidden;
    float sum = 0;
    for (std::int64_t i = 0; i < hidden; ++i) sum += to_float(in[i]) * to_float(in[i]);
    float scale = 1.0f / std::sqrt(sum / static_cast<float>(hidden) + eps);
    for (std::int64_t i = 0; i < hidden; ++i)
      out[i] = to_bfloat16(to_float(in[i]) * scale * to_float(weight[i]));
  }
}
