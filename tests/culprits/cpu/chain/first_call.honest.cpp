// Keeps a buffer for each size and fills it at each call. expects: clean
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

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  static std::map<std::int64_t, std::vector<float>> known;
  auto& kept = known[n];
  kept.resize(n), work(x, w, kept.data(), n);
  std::memcpy(y, kept.data(), n * sizeof *y);
}
