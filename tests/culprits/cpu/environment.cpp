// Looks for what the parent knows; 42 when it finds it. expects: clean
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  for (const char* name : {"AKO_CHILD", "USER", "SSH_AUTH_SOCK", "LD_PRELOAD", "PWD"})
    if (std::getenv(name)) return 42;
  return work(tensors, integers[0]);
}
