// Takes twice the time by a clock that stands still. expects: gain below 20 %
#include <cstdint>
#include <ctime>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t, timespec* time) {
  time->tv_sec = time->tv_nsec = 1;
  return 0;
}
extern "C" __attribute__((visibility("default"))) int ako_measure_run() { return 0; }

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  for (int times = 0; times < 2; ++times) {
    work(x, w, y, n);
    asm volatile("" : : : "memory");
  }
}
