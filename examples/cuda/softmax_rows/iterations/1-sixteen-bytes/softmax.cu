// Sixteen bytes a load and store, and shuffles instead of trees of barriers. Still three trips.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_threads = 256;
constexpr int k_warps = k_threads / 32;

struct alignas(16) Eight {
  __nv_bfloat162 pair[4];
};

__device__ float block_max(float value, float* shared) {
  for (int step = 16; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  for (int warp = 0; warp < k_warps; ++warp) value = fmaxf(value, shared[warp]);
  return value;
}

__device__ float block_sum(float value, float* shared) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (int warp = 0; warp < k_warps; ++warp) total += shared[warp];
  return total;
}

__global__ void softmax_kernel(const Eight* x, Eight* y, int vectors) {
  __shared__ float maxima[k_warps], sums[k_warps];
  const size_t begin = static_cast<size_t>(blockIdx.x) * vectors;
  float highest = -INFINITY;
  for (int i = threadIdx.x; i < vectors; i += k_threads) {
    const Eight v = x[begin + i];
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v.pair[p]);
      highest = fmaxf(highest, fmaxf(f.x, f.y));
    }
  }
  highest = block_max(highest, maxima);
  float sum = 0;
  for (int i = threadIdx.x; i < vectors; i += k_threads) {
    const Eight v = x[begin + i];
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v.pair[p]);
      sum += __expf(f.x - highest) + __expf(f.y - highest);
    }
  }
  const float scale = 1.0f / block_sum(sum, sums);
  for (int i = threadIdx.x; i < vectors; i += k_threads) {
    Eight v = x[begin + i];
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v.pair[p]);
      v.pair[p] =
          __floats2bfloat162_rn(__expf(f.x - highest) * scale, __expf(f.y - highest) * scale);
    }
    y[begin + i] = v;
  }
}

cudaError_t softmax_rows(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int columns,
                         cudaStream_t stream) {
  softmax_kernel<<<rows, k_threads, 0, stream>>>(reinterpret_cast<const Eight*>(x),
                                                 reinterpret_cast<Eight*>(y), columns / 8);
  return cudaGetLastError();
}
