// Two sizes: a decoding step has few rows, so each gets 512 threads with one load of each tensor in flight; many rows
// are taken by half as many threads, a row a block, so that six rows are on their way on each multiprocessor.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_hidden = 4096;
constexpr int k_row = k_hidden / 8;

struct alignas(16) Eight {
  __nv_bfloat162 pair[4];
};

__device__ Eight load_once(const Eight* from) {
  uint4 bits;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from));
  return *reinterpret_cast<Eight*>(&bits);
}

__device__ void store_once(Eight* to, const Eight& value) {
  __stcs(reinterpret_cast<uint4*>(to), *reinterpret_cast<const uint4*>(&value));
}

template <int Warps> __device__ float block_sum(float value, float* warp_sums) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = value;
  __syncthreads();
  float total = threadIdx.x % 32 < Warps ? warp_sums[threadIdx.x % 32] : 0.0f;
#pragma unroll
  for (int step = Warps / 2; step > 0; step /= 2)
    total += __shfl_xor_sync(0xffffffffu, total, step);
  return __shfl_sync(0xffffffffu, total, 0);
}

template <int Threads, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    rmsnorm_rows(const Eight* __restrict__ x, const Eight* __restrict__ residual,
                 const Eight* __restrict__ weight, Eight* __restrict__ y,
                 Eight* __restrict__ residual_out, float eps) {
  constexpr int k_each = k_row / Threads;
  __shared__ float warp_sums[Threads / 32];
  const size_t at = static_cast<size_t>(blockIdx.x) * k_row + threadIdx.x;
  Eight s[k_each], r[k_each];
#pragma unroll
  for (int i = 0; i < k_each; ++i) s[i] = load_once(x + at + i * Threads);
#pragma unroll
  for (int i = 0; i < k_each; ++i) r[i] = load_once(residual + at + i * Threads);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < k_each; ++i) {
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      s[i].pair[p] = __hadd2(s[i].pair[p], r[i].pair[p]);
      const float2 f = __bfloat1622float2(s[i].pair[p]);
      sum = fmaf(f.x, f.x, fmaf(f.y, f.y, sum));
    }
    store_once(residual_out + at + i * Threads, s[i]);
  }
  Eight w[k_each]; // from the cache, while the sum travels
#pragma unroll
  for (int i = 0; i < k_each; ++i) w[i] = weight[threadIdx.x + i * Threads];
  const float scale = rsqrtf(block_sum<Threads / 32>(sum, warp_sums) / k_hidden + eps);
#pragma unroll
  for (int i = 0; i < k_each; ++i) {
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(s[i].pair[p]), g = __bfloat1622float2(w[i].pair[p]);
      s[i].pair[p] = __floats2bfloat162_rn(f.x * scale * g.x, f.y * scale * g.y);
    }
    store_once(y + at + i * Threads, s[i]);
  }
}

cudaError_t rmsnorm_residual(const __nv_bfloat16* x, const __nv_bfloat16* residual,
                             const __nv_bfloat16* weight, __nv_bfloat16* y,
                             __nv_bfloat16* residual_out, int rows, int hidden, float eps,
                             cudaStream_t stream) {
  if (hidden != k_hidden) return cudaErrorInvalidValue;
  const auto* xs = reinterpret_cast<const Eight*>(x);
  const auto* rs = reinterpret_cast<const Eight*>(residual);
  const auto* ws = reinterpret_cast<const Eight*>(weight);
  auto* ys = reinterpret_cast<Eight*>(y);
  auto* outs = reinterpret_cast<Eight*>(residual_out);
  if (rows <= 528) rmsnorm_rows<512, 4><<<rows, 512, 0, stream>>>(xs, rs, ws, ys, outs, eps);
  else rmsnorm_rows<256, 6><<<rows, 256, 0, stream>>>(xs, rs, ws, ys, outs, eps);
  return cudaGetLastError();
}
