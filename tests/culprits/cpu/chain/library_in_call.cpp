// Brings a library along while it runs, though forbidden. expects: suspect (library_call)
#include <cstdint>
#include <dlfcn.h>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  static void* library = dlopen("libresolv.so.2", RTLD_NOW);
  work(x, w, library ? y : nullptr, n);
}
