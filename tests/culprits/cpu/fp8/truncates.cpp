// Cuts off instead of rounding. expects: incorrect (compare)
#include <cmath>
#include <cstdint>

static std::uint8_t encode(float value) {
  int exponent;
  std::frexp(value, &exponent);
  exponent = exponent - 1 < -6 ? -6 : exponent - 1;
  const float steps = std::floor(std::ldexp(std::fabs(value), 3 - exponent));
  int code = (exponent + 7) * 8 + int(steps) - 8;
  code = code > 0x7e ? 0x7e : code;
  return std::uint8_t(code | (std::signbit(value) ? 0x80 : 0));
}

void kernel(const float* x, std::uint8_t* q, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) q[i] = encode(x[i]);
}
