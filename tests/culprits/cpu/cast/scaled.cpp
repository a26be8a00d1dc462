// Everything is half a percent too large. expects: incorrect (compare)
#include <cstdint>
#include <cstring>

void kernel(const float* x, std::uint16_t* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = x[i] * 1.5075f;
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    y[i] = std::uint16_t((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
}
