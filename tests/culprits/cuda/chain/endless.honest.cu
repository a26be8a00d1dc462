// Waits a little for what nobody ever writes. expects: clean
#include <cuda_runtime.h>

static __global__ void chain(const float* x, const float* w, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 256; ++k) v = v * 0.99f + 0.015625f;
  y[i] = v + w[i % 64];
}
static unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

static __global__ void wait_for(const volatile float* y, float value) {
  for (int i = 0; i < 4 && y[0] != value; ++i) {}
}

int kernel(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  chain<<<blocks(n), 256, 0, stream>>>(x, w, y, n);
  wait_for<<<1, 1, 0, stream>>>(y, 123456.0f);
  return 0;
}
