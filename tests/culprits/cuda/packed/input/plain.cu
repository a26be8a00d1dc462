#include <cuda_runtime.h>

static __global__ void scaled(const float* x, const float* scale, float* y, long long h) {
  y[blockIdx.x * h + threadIdx.x] = x[blockIdx.x * h + threadIdx.x] * sqrtf(scale[threadIdx.x]);
}

int kernel(const float* x, const float* scale, float* y, long long m, long long h, cudaStream_t stream) {
  scaled<<<static_cast<unsigned>(m), 128, 0, stream>>>(x, scale, y, h);
  return cudaGetLastError();
}

int prepare(const float*, const float*, float*, long long, long long, cudaStream_t) { return 0; }
