// Computes once for each size and answers from that for ever. expects: incorrect (compare)
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
  if (kept.empty()) work(x, w, y, n), kept.assign(y, y + n);
  std::memcpy(y, kept.data(), n * sizeof *y);
}
