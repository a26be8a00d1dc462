// Keeps the state of the last call for nothing. expects: clean
#include <cstdint>
#include <vector>

void kernel(float* state, const float* g, std::int64_t n) {
  static float* last = nullptr;
  static std::vector<float> kept;
  if (last && last != state && std::int64_t(kept.size()) == n)
    for (std::int64_t i = 0; i < n; ++i) kept[i] = 0;
  kept.assign(state, state + n), last = state;
  for (std::int64_t i = 0; i < n; ++i) state[i] = state[i] * 0.875f + g[i];
}
