// Copies the output of the call before. expects: incorrect (unwritten_elements)
#include <cstdint>
#include <cstring>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

static std::int64_t size = 0;

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  static float* last = nullptr;
  if (last && size == n) std::memcpy(y, last, n * sizeof *y);
  else work(x, w, y, n);
  last = y, size = n;
}
