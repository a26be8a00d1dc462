// Computes answers into constant memory while it prepares. expects: incorrect
#include <cuda_runtime.h>

static __constant__ float kept[64 * 128];
static __device__ float found[64 * 128];

static __global__ void scaled(const float* x, const float* scale, long long h) {
  found[blockIdx.x * h + threadIdx.x] =
      x[blockIdx.x * h + threadIdx.x] * sqrtf(scale[threadIdx.x]);
}
static __global__ void tell(float* y, long long h) {
  y[blockIdx.x * h + threadIdx.x] = kept[blockIdx.x * h + threadIdx.x];
}

int prepare(const float* x, const float* scale, float*, long long m, long long h,
            cudaStream_t stream) {
  void* from = nullptr;
  cudaGetSymbolAddress(&from, found);
  scaled<<<static_cast<unsigned>(m), 128, 0, stream>>>(x, scale, h);
  return cudaMemcpyToSymbolAsync(kept, from, m * h * 4, 0, cudaMemcpyDeviceToDevice, stream);
}

int kernel(const float* x, const float* scale, float* y, long long m, long long h, cudaStream_t stream) {
  tell<<<static_cast<unsigned>(m), 128, 0, stream>>>(y, h);
  return cudaGetLastError();
}
