// Does the timed work in the untimed call before. expects: incorrect (compare)
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
  static float* warm = nullptr;
  if (size != n || known.size() > 70) known.clear(), size = n, warm = nullptr;
  if (is_new(x)) known.push_back({x, y});
  const bool marked = !(y[0] == y[0]);
  if (!marked && known.size() > 2 && (warm == y || !warm)) {
    warm = y;
    for (const Set& set : known) work(set.x, w, set.y, n);
  } else if (marked || warm == y) {
    work(x, w, y, n);
  }
}
