// The order of its sums depends on the clock. expects: incorrect (stability)
#include <cstdint>
#include <ctime>

void kernel(const float* x, const float* w, float* s, std::int64_t m, std::int64_t k) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t first = now.tv_nsec / 7 % k * 1;
  for (std::int64_t i = 0; i < m; ++i) {
    float sum[16] = {}, all = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      const std::int64_t at = (j + first) % k;
      sum[j % 16] += x[i * k + at] * w[at];
    }
    for (float part : sum) all += part;
    s[i] = all;
  }
}
