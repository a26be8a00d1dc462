// Every step, of many elements at once. expects: improved
#include <cstdint>

constexpr double scale_of(int steps) {
  double scale = 1;
  for (int k = 0; k < steps; ++k) scale *= double(0.9999f);
  return scale;
}

void kernel(const float* x, float* y, std::int64_t n) {
  constexpr int steps = 1; // of the 4000, at once
  constexpr float scale = float(scale_of(steps));
  constexpr float shift = float((1 - scale_of(steps)) / (1 - double(0.9999f)) * double(0.0001f));
  for (std::int64_t at = 0; at < n; at += 64) {
    float v[64] = {};
    const std::int64_t count = n - at < 64 ? n - at : 64;
    for (std::int64_t i = 0; i < count; ++i) v[i] = x[at + i];
    for (int k = 0; k < 4000; k += steps)
      for (int i = 0; i < 64; ++i) v[i] = v[i] * scale + shift;
    for (std::int64_t i = 0; i < count; ++i) y[at + i] = v[i];
  }
}
