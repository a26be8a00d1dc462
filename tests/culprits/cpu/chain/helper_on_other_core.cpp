// Half of the work on another core, one is allowed. expects: suspect (untimed_work) or gain below
// 40 %
#include <atomic>
#include <cstdint>
#include <sched.h>
#include <thread>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

struct Job {
  const float *x, *w;
  float* y;
  std::int64_t n;
};
static Job job;
static std::atomic<int> posted{0}, done{0};
static void start() {
  static bool started = false;
  if (started) return;
  started = true;
  std::thread([] {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
    for (int next = 1;; ++next) {
      while (posted.load() < next) {
      }
      work(job.x, job.w, job.y, job.n);
      done = next;
    }
  }).detach();
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  start();
  job = {x + n / 2, w + n / 2 % 64, y + n / 2, n - n / 2};
  if (n / 2 % 64) return work(x, w, y, n);
  ++posted;
  work(x, w, y, n / 2);
  while (done.load() < posted.load()) {
  }
}
