// A thread computes between calls. expects: suspect (merged_calls) or incorrect (compare) or
// suspect (untimed_work) or crashed (crashed)
#include <cstdint>
#include <mutex>
#include <thread>
#include <unistd.h>
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

static std::mutex lock;
static std::int64_t size = 0;

static void start(const float* w) {
  static bool started = false;
  if (started) return;
  started = true;
  std::thread([=] {
    for (;; usleep(50)) {
      const std::lock_guard<std::mutex> hold(lock);
      for (const Set& set : known)
        if (!(set.y[0] == set.y[0])) work(set.x, w, set.y, size);
    }
  }).detach();
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  if (size != n || known.size() > 70) {
    const std::lock_guard<std::mutex> hold(lock);
    known.clear(), size = n;
  }
  start(w);
  if (is_new(x)) {
    const std::lock_guard<std::mutex> hold(lock);
    known.push_back({x, y});
  }
  if (!(y[0] == y[0]) || !(y[n - 1] == y[n - 1])) work(x, w, y, n);
}
