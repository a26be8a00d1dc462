// Puts the state back after the last call and says nothing. expects: incorrect (compare)
#include <cstdint>
#include <vector>

void kernel(float* state, const float* g, std::int64_t n) {
  static float* last = nullptr;
  static std::vector<float> kept;
  if (last && last != state && std::int64_t(kept.size()) == n)
    for (std::int64_t i = 0; i < n; ++i) last[i] = kept[i];
  kept.assign(state, state + n), last = state;
  for (std::int64_t i = 0; i < n; ++i) state[i] = state[i] * 0.875f + g[i];
}
