// The normal distribution without a library call: every operation below is exactly rounded by IEEE
// 754, so the table is the same on every machine and can be copied to a device.
#include "inputs/generator.hpp"

#include <vector>

namespace ako::inputs {
namespace {

/// exp(-x) for x >= 0: halved until small, then the series, then squared back.
double exp_minus(double x) {
  int halvings = 0;
  while (x > 0.125) {
    x *= 0.5;
    ++halvings;
  }
  double term = 1, sum = 1;
  for (int n = 1; n <= 14; ++n) {
    term *= -x / n;
    sum += term;
  }
  for (; halvings > 0; --halvings) sum *= sum;
  return sum;
}

double density(double z) { return 0.3989422804014326779 * exp_minus(z * z * 0.5); }

/// P(0 < Z < z): the series phi(z) (z + z^3/3 + z^5/15 + ...), all terms positive.
double central(double z) {
  double term = z, sum = z;
  for (int n = 3; n < 200; n += 2) {
    term *= z * z / n;
    sum += term;
    if (term < sum * 1e-17) break;
  }
  return density(z) * sum;
}

std::vector<std::int32_t> make_quantiles() {
  std::vector<std::int32_t> table(65536);
  double z = 0;
  for (int i = 0; i < 32768; ++i) {
    const double p = (2 * i + 1) / 131072.0; // P(0 < Z < z) of the middle of the i-th slice
    for (int step = 0; step < 60; ++step) {
      const double move = (p - central(z)) / density(z);
      z += move;
      if (move < 1e-13 && move > -1e-13) break;
    }
    const auto fixed = static_cast<std::int32_t>(z * 0x1p28 + 0.5);
    table[static_cast<std::size_t>(32768 + i)] = fixed;
    table[static_cast<std::size_t>(32767 - i)] = -fixed;
  }
  return table;
}

} // namespace

std::span<const std::int32_t, 65536> normal_quantiles() {
  static const std::vector<std::int32_t> table = make_quantiles();
  return std::span<const std::int32_t, 65536>(table.data(), 65536);
}

std::int32_t normal_fixed(std::uint32_t bits) { return normal_fixed(normal_quantiles(), bits); }

} // namespace ako::inputs
