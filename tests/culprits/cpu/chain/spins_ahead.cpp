// A thread computes new inputs as soon as it may run, into memory of its own, before the call
// comes. expects: suspect (untimed_work) or not improved
#include <cstdint>
#include <cstring>
#include <mutex>
#include <sched.h>
#include <sys/mman.h>
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
  std::uint64_t stamp;
  float seen;
  std::vector<float> y;
};
static std::vector<Set> known;
static std::int64_t size = 0;

static std::uint64_t stamp_of(const float* x, std::int64_t n) {
  std::uint64_t sum[4] = {1, 2, 3, 4};
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    sum[i % 4] = sum[i % 4] * 0x9e3779b97f4a7c15u + bits;
  }
  return (sum[0] ^ sum[1] << 1 ^ sum[2] << 2 ^ sum[3] << 3) | 1;
}
/// What lies there now, in memory of its own; nothing where nothing is mapped any more.
static const float* copy_of(const float* x, std::int64_t n) {
  static const int file = memfd_create("inputs", 0);
  static float copy[8192];
  const ssize_t bytes = n * 4;
  return pwrite(file, x, bytes, 0) == bytes && pread(file, copy, bytes, 0) == bytes ? copy
                                                                                    : nullptr;
}
static Set& set_of(const float* x, std::int64_t n) {
  if (size != n || known.size() > 70) known.clear(), size = n;
  for (Set& set : known)
    if (set.x == x) return set;
  known.push_back({x, 0, 0, std::vector<float>(n)});
  return known.back();
}
static void prepare(Set& set, const float* x, const float* w) {
  const auto stamp = stamp_of(x, size) + 3 * stamp_of(w, 64);
  if (set.stamp == stamp) return;
  work(x, w, set.y.data(), size);
  set.stamp = stamp;
}

static std::mutex lock;

static float table[64];

static void watch() {
  for (;; sched_yield()) {
    const std::lock_guard<std::mutex> hold(lock);
    for (Set& set : known) {
      const float* first = copy_of(set.x, 1);
      if (!first || *first == set.seen) continue;
      set.seen = *first;
      if (const float* all = copy_of(set.x, size)) prepare(set, all, table);
    }
  }
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  static bool started = false;
  if (!started) std::thread(watch).detach();
  started = true;
  const std::lock_guard<std::mutex> hold(lock);
  std::memcpy(table, w, sizeof table);
  Set& set = set_of(x, n);
  prepare(set, x, w);
  std::memcpy(y, set.y.data(), n * 4);
}
