#include <cstdint>

void reference(float* state, const float* g, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) state[i] = float(double(state[i]) * 0.875 + g[i]);
}
