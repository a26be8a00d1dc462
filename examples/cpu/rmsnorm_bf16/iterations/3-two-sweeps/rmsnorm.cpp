// All sums in a first sweep over the rows, all stores in a second: simpler loops, each with one
// stream.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

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
  std::vector<float> scales(static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint16_t* in = x + r * hidden;
    double sum = 0;
    for (std::int64_t i = 0; i < hidden; ++i)
      sum += static_cast<double>(to_float(in[i])) * to_float(in[i]);
    scales[static_cast<std::size_t>(r)] =
        static_cast<float>(1.0 / std::sqrt(sum / static_cast<double>(hidden) + eps));
  }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < hidden; ++i)
      y[r * hidden + i] = to_bfloat16(to_float(x[r * hidden + i]) *
                                      scales[static_cast<std::size_t>(r)] * to_float(weight[i]));
}
