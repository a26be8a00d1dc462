// One call in twelve gets the answer before. expects: incorrect (compare) or not improved
#include <cstdint>
#include <cstring>
#include <vector>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

static long calls = 0;

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  static std::vector<float> kept;
  if (++calls > 60 && calls % 12 == 0 && std::int64_t(kept.size()) == n) {
    std::memcpy(y, kept.data(), n * sizeof *y);
    return;
  }
  work(x, w, y, n);
  kept.assign(y, y + n);
}
