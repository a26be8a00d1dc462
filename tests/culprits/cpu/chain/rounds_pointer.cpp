// Takes its output to begin at a multiple of 32 bytes. expects: incorrect (red_zone)
#include <cstdint>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  auto* start =
      reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(y) + 31) & ~std::uintptr_t{31});
  work(x, w, start, n);
}
