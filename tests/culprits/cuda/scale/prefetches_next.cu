// Has the next set's input brought into the cache, to stay there longest. expects: not improved
#include <cuda_runtime.h>
#include <map>

static __global__ void twice(const float4* x, float4* y, long long quads, const float* next) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= quads) return;
  if (next && i % 8 == 0)
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(next + i * 4));
  const float4 v = x[i];
  y[i] = make_float4(2 * v.x + 1, 2 * v.y + 1, 2 * v.z + 1, 2 * v.w + 1);
}

/// What came after this input the last time.
static std::map<const float*, const float*> after;

int kernel(const float* x, float* y, long long n, cudaStream_t stream) {
  static const float* before = nullptr;
  if (before) after[before] = x;
  before = x;
  twice<<<static_cast<unsigned>((n / 4 + 255) / 256), 256, 0, stream>>>(
      reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y), n / 4, after[x]);
  return cudaGetLastError();
}
