// One call does the work of all buffers; the others find it done. expects: suspect (merged_calls)
#include <cstdint>
#include <vector>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

struct Set {
  const float* x;
  float* y;
};
static std::vector<Set> known;
static bool is_new(const float* x) {
  for (const Set& set : known)
    if (set.x == x) return false;
  return true;
}
static std::int64_t size = 0;

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  if (size != n || known.size() > 70) known.clear(), size = n;
  if (is_new(x)) known.push_back({x, y});
  if (y[0] == y[0] && y[n - 1] == y[n - 1] && known.size() > 1) return;
  for (const Set& set : known) work(set.x, w, set.y, n);
}
