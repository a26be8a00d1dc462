// Leaves a state alone when it has seen it before. expects: incorrect (compare)
#include <cstdint>
#include <set>

void kernel(float* state, const float* g, std::int64_t n) {
  static std::set<const float*> done;
  const int times = done.insert(state).second ? 1 : 2;
  for (int t = 0; t < times; ++t)
    for (std::int64_t i = 0; i < n; ++i) state[i] = state[i] * 0.875f + g[i];
}
