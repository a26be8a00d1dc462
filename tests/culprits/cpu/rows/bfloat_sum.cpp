// Keeps its running sum in eight bits of fraction. expects: incorrect (compare)
#include <cstdint>
#include <cstring>

static float keep(float value, std::uint32_t mask) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits &= mask;
  std::memcpy(&value, &bits, 4);
  return value;
}

void kernel(const float* x, const float* w, float* s, std::int64_t m, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    float sum[16] = {}, all = 0;
    for (std::int64_t j = 0; j < k; ++j)
      sum[j % 16] = keep(sum[j % 16] + x[i * k + j] * w[j], 0xffff0000u);
    for (float part : sum) all += part;
    s[i] = all;
  }
}
