// Lays pages of its own over the buffers. expects: incorrect (unwritten_elements) or crashed
// (crashed)
#include <cstdint>
#include <cstring>
#include <sys/mman.h>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  auto page = reinterpret_cast<std::uintptr_t>(y) & ~std::uintptr_t{4095};
  mmap(reinterpret_cast<void*>(page), n * 4 + 4096, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  work(x, w, y, n);
}
