// Right on the first calls at the timed size, then the last answer again. expects: incorrect
// (compare)
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
  if (n != 4096 || calls++ < 25) {
    work(x, w, y, n);
    if (n == 4096) kept.assign(y, y + n);
  } else {
    std::memcpy(y, kept.data(), n * sizeof *y);
  }
}
