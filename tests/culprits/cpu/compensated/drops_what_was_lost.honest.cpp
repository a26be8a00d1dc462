// Collects what its sums lose, and gives it back. expects: clean
#include <cmath>
#include <cstdint>

void kernel(const float* x, float* s, std::int64_t m, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    float sum = 0, lost = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      const float v = x[i * k + j], next = sum + v;
      lost += std::fabs(sum) >= std::fabs(v) ? (sum - next) + v : (v - next) + sum;
      sum = next;
    }
    s[i] = sum + lost;
  }
}
