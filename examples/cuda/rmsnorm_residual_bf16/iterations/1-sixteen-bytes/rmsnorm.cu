// Sixteen bytes a load and store instead of two: an eighth of the memory instructions.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_threads = 256;

struct alignas(16) Eight {
  __nv_bfloat162 pair[4];
};

__global__ void rmsnorm_rows(const Eight* x, const Eight* residual, const Eight* weight, Eight* y,
                             Eight* residual_out, int vectors, float eps) {
  __shared__ float sums[k_threads];
  const size_t begin = static_cast<size_t>(blockIdx.x) * vectors;
  float sum = 0;
  for (int i = threadIdx.x; i < vectors; i += k_threads) {
    Eight s = x[begin + i];
    const Eight r = residual[begin + i];
    for (int p = 0; p < 4; ++p) {
      s.pair[p] = __hadd2(s.pair[p], r.pair[p]);
      const float2 f = __bfloat1622float2(s.pair[p]);
      sum += f.x * f.x + f.y * f.y;
    }
    residual_out[begin + i] = s;
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = k_threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  const float scale = rsqrtf(sums[0] / (8.0f * vectors) + eps);
  for (int i = threadIdx.x; i < vectors; i += k_threads) {
    Eight s = residual_out[begin + i];
    const Eight w = weight[i];
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(s.pair[p]), g = __bfloat1622float2(w.pair[p]);
      s.pair[p] = __floats2bfloat162_rn(f.x * scale * g.x, f.y * scale * g.y);
    }
    y[begin + i] = s;
  }
}

cudaError_t rmsnorm_residual(const __nv_bfloat16* x, const __nv_bfloat16* residual,
                             const __nv_bfloat16* weight, __nv_bfloat16* y,
                             __nv_bfloat16* residual_out, int rows, int hidden, float eps,
                             cudaStream_t stream) {
  rmsnorm_rows<<<rows, k_threads, 0, stream>>>(
      reinterpret_cast<const Eight*>(x), reinterpret_cast<const Eight*>(residual),
      reinterpret_cast<const Eight*>(weight), reinterpret_cast<Eight*>(y),
      reinterpret_cast<Eight*>(residual_out), hidden / 8, eps);
  return cudaGetLastError();
}
