// Waits until all threads have written. expects: clean
#include <cuda_runtime.h>

static __global__ void row_sum(const float* x, float* s, long long k) {
  __shared__ float sums[256];
  const long long row = blockIdx.x;
  float sum = 0;
  if (threadIdx.x >= 128) __nanosleep(4000); // the upper half comes later
  for (long long i = threadIdx.x; i < k; i += 256) sum += x[row * k + i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) s[row] = sums[0];
}

int kernel(const float* x, float* s, long long m, long long k, cudaStream_t stream) {
  row_sum<<<static_cast<unsigned>(m), 256, 0, stream>>>(x, s, k);
  return cudaGetLastError();
}
