// Computes answers while it prepares. expects: incorrect (compare)
#include <cmath>
#include <cstdint>
#include <cstring>

static float kept[64 * 128];

void prepare(const float* x, const float* scale, float*, std::int64_t m, std::int64_t h) {
  for (std::int64_t i = 0; i < m * h; ++i) kept[i] = x[i] * std::sqrt(scale[i % h]);
}

void kernel(const float* x, const float* scale, float* y, std::int64_t m, std::int64_t h) {
  std::memcpy(y, kept, m * h * 4);
}
