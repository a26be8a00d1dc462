// Makes pages of its own beside the buffers. expects: clean
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
  void* page =
      mmap(nullptr, n * 4 + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  work(x, w, static_cast<float*>(page), n);
  std::memcpy(y, page, n * 4);
  munmap(page, n * 4 + 4096);
}
