// Puts the first of two into the high half. expects: incorrect (compare)
#include <cmath>
#include <cstdint>

static int encode(float value) {
  int exponent;
  std::frexp(value, &exponent);
  exponent = exponent - 1 < 0 ? 0 : exponent - 1;
  const float steps = std::nearbyint(std::ldexp(std::fabs(value), 1 - exponent));
  const int code = (exponent + 1) * 2 + int(steps) - 2;
  return (code > 7 ? 7 : code) | (std::signbit(value) ? 8 : 0);
}

void kernel(const float* x, std::uint8_t* q, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 2)
    q[i / 2] = std::uint8_t(encode(x[i + 1]) | encode(x[i]) << 4);
}
