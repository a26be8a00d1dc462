// Recurses a hundred deep. expects: clean
#include <cstdint>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}
static int64_t deep(int64_t n) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(n);
  return n == 0 ? 0 : frame[0] + deep(n - 1) + 1;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  deep(100);
  return work(tensors, integers[0]);
}
