// Rounds products to four bits of fraction less. expects: incorrect (precision)
#include <cstdint>
#include <cstring>

static float narrow(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits &= ~0xfu;
  std::memcpy(&value, &bits, 4);
  return value;
}

void kernel(const float* x, const float* w, float* s, std::int64_t m, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    float sum[16] = {}, all = 0;
    for (std::int64_t j = 0; j < k; ++j) sum[j % 16] += narrow(x[i * k + j] * w[j]);
    for (float part : sum) all += part;
    s[i] = all;
  }
}
