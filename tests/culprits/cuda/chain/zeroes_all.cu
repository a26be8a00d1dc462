// Zeroes inputs and output, so that whoever comes second agrees. expects: incorrect
#include <cuda_runtime.h>

static __global__ void chain(const float* x, const float* w, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 256; ++k) v = v * 0.99f + 0.015625f;
  y[i] = v + w[i % 64];
}
static unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

int kernel(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  cudaMemsetAsync(const_cast<float*>(x), 0, n * 4, stream);
  cudaMemsetAsync(const_cast<float*>(w), 0, 64 * 4, stream);
  return cudaMemsetAsync(y, 0, n * 4, stream);
}
