#include <cstdint>

void kernel(float* state, const float* g, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) state[i] = state[i] * 0.875f + g[i];
}
