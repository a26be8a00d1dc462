// Goes by the strides. expects: clean
#include <cuda_runtime.h>

static __global__ void twice(const float* x, float* y, long long h) {
  for (long long i = threadIdx.x; i < h; i += 128)
    y[blockIdx.x * (h + 8) + i] = 2 * x[blockIdx.x * h + i];
}

int kernel(const float* x, float* y, long long m, long long h, cudaStream_t stream) {
  twice<<<static_cast<unsigned>(m), 128, 0, stream>>>(x, y, h);
  return cudaGetLastError();
}
