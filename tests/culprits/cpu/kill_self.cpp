// Ends itself by the signal that the kernel sends for want of memory. expects: crashed
#include <csignal>
#include <cstdint>
#include <unistd.h>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  kill(getpid(), SIGKILL);
  return work(tensors, integers[0]);
}
