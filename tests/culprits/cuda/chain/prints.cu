// Every thread prints at every call. expects: crashed or timeout or not improved
#include <cuda_runtime.h>
#include <cstdio>

static __global__ void chain(const float* x, const float* w, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 256; ++k) v = v * 0.99f + 0.015625f;
  printf("element %lld is %f here and now\n", i, v);
  y[i] = v + w[i % 64];
}
static unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

int kernel(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  chain<<<blocks(n), 256, 0, stream>>>(x, w, y, n);
  return cudaGetLastError();
}
