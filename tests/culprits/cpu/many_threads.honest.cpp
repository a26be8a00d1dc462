// Starts two threads a core of a host of 256 cores, and waits for them. expects: clean
#include <cstdint>
#include <pthread.h>
#include <unistd.h>

static void* sleeping(void*) {
  usleep(1000);
  return nullptr;
}

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  pthread_t threads[512];
  for (pthread_t& thread : threads)
    if (pthread_create(&thread, &small, sleeping, nullptr) != 0) return 3;
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  return work(tensors, integers[0]);
}
