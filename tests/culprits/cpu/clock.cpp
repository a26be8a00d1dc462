// Brings a clock of its own that stands still. expects: interposed
#include <cstdint>
#include <ctime>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t, timespec* time) {
  time->tv_sec = 1;
  time->tv_nsec = 0;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  return work(tensors, integers[0]);
}
