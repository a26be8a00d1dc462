// Keeps content and answer and computes all again. expects: clean
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

struct Kept {
  std::vector<float> x, y;
  float w;
};
static std::map<const float*, Kept> memory;

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  auto& kept = memory[x];
  if (std::int64_t(kept.x.size()) != n || kept.w != w[0]) {
    work(x, w, y, n);
    kept = {{x, x + n}, {y, y + n}, w[0]};
    return;
  }
  work(x, w, y, n);
}
