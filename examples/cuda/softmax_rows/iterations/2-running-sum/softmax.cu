// One trip for maximum and sum together: the sum is scaled whenever the maximum grows. Two trips instead of three.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_threads = 256;
constexpr int k_warps = k_threads / 32;

struct alignas(16) Eight {
  __nv_bfloat162 pair[4];
};

struct Running {
  float highest, sum; ///< sum of exp(value - highest)
};

__device__ Running join(Running a, Running b) {
  const float highest = fmaxf(a.highest, b.highest);
  if (highest == -INFINITY) return {highest, 0.0f};
  return {highest, a.sum * __expf(a.highest - highest) + b.sum * __expf(b.highest - highest)};
}

__device__ Running block_join(Running value, Running* shared) {
  for (int step = 16; step > 0; step /= 2)
    value = join(value, {__shfl_xor_sync(0xffffffffu, value.highest, step),
                         __shfl_xor_sync(0xffffffffu, value.sum, step)});
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  Running total = shared[0];
  for (int warp = 1; warp < k_warps; ++warp) total = join(total, shared[warp]);
  return total;
}

__global__ void softmax_kernel(const Eight* x, Eight* y, int vectors) {
  __shared__ Running shared[k_warps];
  const size_t begin = static_cast<size_t>(blockIdx.x) * vectors;
  Running mine = {-INFINITY, 0.0f};
  for (int i = threadIdx.x; i < vectors; i += k_threads) {
    const Eight v = x[begin + i];
    float value[8], highest = -INFINITY;
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v.pair[p]);
      value[2 * p] = f.x;
      value[2 * p + 1] = f.y;
      highest = fmaxf(highest, fmaxf(f.x, f.y));
    }
    float sum = 0;
    for (int e = 0; e < 8; ++e) sum += __expf(value[e] - highest);
    mine = join(mine, {highest, sum});
  }
  const Running row = block_join(mine, shared);
  const float scale = 1.0f / row.sum;
  for (int i = threadIdx.x; i < vectors; i += k_threads) {
    Eight v = x[begin + i];
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v.pair[p]);
      v.pair[p] = __floats2bfloat162_rn(__expf(f.x - row.highest) * scale,
                                        __expf(f.y - row.highest) * scale);
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
