// Comes back before its thread is done. expects: incorrect (unwritten_elements) or suspect
// (merged_calls) or crashed (crashed) or gain below 60 %
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
    for (int next = 1;; ++next) {
      posted.wait(next - 1);
      work(job.x, job.w, job.y, job.n);
      done = next;
    }
  }).detach();
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  start();
  while (done.load() < posted.load()) sched_yield();
  job = {x, w, y, n};
  ++posted;
  posted.notify_one();
}
