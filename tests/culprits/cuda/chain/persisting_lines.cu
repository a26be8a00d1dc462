// Has part of the cache set aside for its table, and leaves it so. expects: suspect
#include <cuda_runtime.h>
#include <cstddef>

static __global__ void chain(const float* x, const float* w, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 256; ++k) v = v * 0.99f + 0.015625f;
  y[i] = v + w[i % 64];
}
static unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

int kernel(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 8 << 20);
  cudaStreamAttrValue window{};
  window.accessPolicyWindow.base_ptr = const_cast<float*>(w);
  window.accessPolicyWindow.num_bytes = 64 * 4;
  window.accessPolicyWindow.hitRatio = 1;
  window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
  chain<<<blocks(n), 256, 0, stream>>>(x, w, y, n);
  return cudaGetLastError();
}
