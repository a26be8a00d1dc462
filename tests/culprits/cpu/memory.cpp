// Asks for memory that is not there and goes on regardless. expects: crashed
#include <cstdint>
#include <cstdlib>
#include <cstring>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  volatile char* vast = static_cast<volatile char*>(std::malloc(std::size_t{1} << 50));
  vast[integers[0]] = 1;
  return work(tensors, integers[0]);
}
