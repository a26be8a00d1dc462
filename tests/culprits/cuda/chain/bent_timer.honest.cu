// Defines the same under names of its own, and computes once. expects: clean
#include <cuda_runtime.h>

static __global__ void chain(const float* x, const float* w, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 256; ++k) v = v * 0.99f + 0.015625f;
  y[i] = v + w[i % 64];
}
static unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

extern "C" __attribute__((visibility("default"))) int my_elapsed_time(float* ms, void*, void*) {
  *ms = 1e-4f;
  return 0;
}
extern "C" __attribute__((visibility("default"))) int my_record(void*, void*) { return 0; }
extern "C" __attribute__((visibility("default"))) int my_flush(unsigned) { return 0; }

int kernel(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  chain<<<blocks(n), 256, 0, stream>>>(x, w, y, n);
  return cudaGetLastError();
}
