// Empties an input, computes from that, and puts the input back. expects: incorrect (compare)
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

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  auto* place = const_cast<float*>(x);
  std::vector<float> kept(x, x + n);
  std::memset(place, 0, n * 4);
  work(x, w, y, n);
  std::memcpy(place, kept.data(), n * 4);
}
