// Answers from memory by a checksum of sixteen elements. expects: incorrect (compare) or gain below
// 60 %
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
  static std::map<std::uint32_t, std::vector<float>> known;
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < n && i < 16; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    sum = sum * 31 + bits;
  }
  auto& kept = known[sum];
  if (std::int64_t(kept.size()) == n) std::memcpy(y, kept.data(), n * sizeof *y);
  else work(x, w, y, n), kept.assign(y, y + n);
}
