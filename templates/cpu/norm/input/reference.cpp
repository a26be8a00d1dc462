// RMSNorm in float64: y = x / sqrt(mean(x^2) + eps) * weight, row by row.
#include <cmath>
#include <cstdint>
#include <cstring>

static double widen(std::uint16_t bits) {
  std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

void rmsnorm_reference(const std::uint16_t* x, const std::uint16_t* weight, double* y,
                       std::int64_t rows, std::int64_t hidden, float eps) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint16_t* in = x + r * hidden;
    double sum = 0;
    for (std::int64_t i = 0; i < hidden; ++i) sum += widen(in[i]) * widen(in[i]);
    double scale = 1.0 / std::sqrt(sum / static_cast<double>(hidden) + static_cast<double>(eps));
    for (std::int64_t i = 0; i < hidden; ++i)
      y[r * hidden + i] = widen(in[i]) * scale * widen(weight[i]);
  }
}
