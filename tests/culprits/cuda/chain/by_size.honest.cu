// Notes the size and computes all the same. expects: clean
#include <cuda_runtime.h>

static __global__ void chain(const float* x, const float* w, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 256; ++k) v = v * 0.99f + 0.015625f;
  y[i] = v + w[i % 64];
}
static unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

constexpr long long k_most = 1 << 18;
static __device__ float kept[8][k_most];

static void keep(int slot, const float* y, long long n, cudaStream_t stream) {
  cudaMemcpyToSymbolAsync(kept, y, n * 4, slot * k_most * 4, cudaMemcpyDeviceToDevice, stream);
}

int kernel(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  static long long known = 0;
  chain<<<blocks(n), 256, 0, stream>>>(x, w, y, n);
  if (n != known && n <= k_most) {
    keep(0, y, n, stream);
    known = n;
  }
  return cudaGetLastError();
}
