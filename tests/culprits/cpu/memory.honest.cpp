// Asks and looks at the answer. expects: clean
#include <cstdint>
#include <cstdlib>
#include <cstring>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  char* vast = static_cast<char*>(std::malloc(std::size_t{1} << 50));
  if (vast) vast[integers[0]] = 1;
  std::free(vast);
  return work(tensors, integers[0]);
}
