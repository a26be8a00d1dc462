// The last row is a little off. expects: incorrect (compare)
#include <cstdint>

static float row(const float* x, const float* w, std::int64_t k) {
  float sum[16] = {}, all = 0;
  for (std::int64_t j = 0; j < k; ++j) sum[j % 16] += x[j] * w[j];
  for (float part : sum) all += part;
  return all;
}

void kernel(const float* x, const float* w, float* s, std::int64_t m, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) s[i] = row(x + i * k, w, k);
  s[m - 1] *= 1.001f;
}
