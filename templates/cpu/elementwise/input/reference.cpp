// In float64.
#include <cmath>
#include <cstdint>
#include <cstring>

static double widen(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

void swiglu_reference(const std::uint16_t* x, double* out, std::int64_t rows, std::int64_t hidden) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < hidden; ++i) {
      const double gate = widen(x[r * 2 * hidden + i]), up = widen(x[r * 2 * hidden + hidden + i]);
      out[r * hidden + i] = gate / (1.0 + std::exp(-gate)) * up;
    }
}
