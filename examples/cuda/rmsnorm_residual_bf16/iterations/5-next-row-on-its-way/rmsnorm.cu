// As many blocks as fit, each taking row after row: the next row is loaded before this one is summed, and the weights
// are read once a block instead of once a row.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_threads = 256;
constexpr int k_warps = k_threads / 32;
constexpr int k_hidden = 4096;
constexpr int k_row = k_hidden / 8;
constexpr int k_each = k_row / k_threads;
constexpr int k_blocks_a_multiprocessor = 3;

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

/// `warp_sums` alternates between two places, so that one barrier a row is enough.
__device__ float block_sum(float value, float* warp_sums) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
#pragma unroll
  for (int warp = 0; warp < k_warps; ++warp) total += warp_sums[warp];
  return total;
}

__global__ void __launch_bounds__(k_threads, k_blocks_a_multiprocessor)
    rmsnorm_rows(const Eight* __restrict__ x, const Eight* __restrict__ residual,
                 const Eight* __restrict__ weight, Eight* __restrict__ y,
                 Eight* __restrict__ residual_out, int rows, float eps) {
  __shared__ float warp_sums[2][k_warps];
  Eight next_x[k_each], next_r[k_each], w[k_each];
  const auto load_row = [&](int row) {
    const size_t at = static_cast<size_t>(row) * k_row + threadIdx.x;
#pragma unroll
    for (int i = 0; i < k_each; ++i) {
      next_x[i] = load_once(x + at + i * k_threads);
      next_r[i] = load_once(residual + at + i * k_threads);
    }
  };
  int row = blockIdx.x;
  load_row(row);
#pragma unroll
  for (int i = 0; i < k_each; ++i) w[i] = weight[i * k_threads + threadIdx.x];
  for (int turn = 0; row < rows; turn ^= 1) {
    const size_t at = static_cast<size_t>(row) * k_row + threadIdx.x;
    Eight s[k_each];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < k_each; ++i) {
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        s[i].pair[p] = __hadd2(next_x[i].pair[p], next_r[i].pair[p]);
        const float2 f = __bfloat1622float2(s[i].pair[p]);
        sum += f.x * f.x + f.y * f.y;
      }
    }
    row += gridDim.x;
    if (row < rows) load_row(row);
#pragma unroll
    for (int i = 0; i < k_each; ++i) store_once(residual_out + at + i * k_threads, s[i]);
    const float scale = rsqrtf(block_sum(sum, warp_sums[turn]) / k_hidden + eps);
#pragma unroll
    for (int i = 0; i < k_each; ++i) {
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const float2 f = __bfloat1622float2(s[i].pair[p]), g = __bfloat1622float2(w[i].pair[p]);
        s[i].pair[p] = __floats2bfloat162_rn(f.x * scale * g.x, f.y * scale * g.y);
      }
      store_once(y + at + i * k_threads, s[i]);
    }
  }
}

static int resident_blocks() {
  static const int s_blocks = [] {
    int device = 0, count = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count * k_blocks_a_multiprocessor;
  }();
  return s_blocks;
}

cudaError_t rmsnorm_residual(const __nv_bfloat16* x, const __nv_bfloat16* residual,
                             const __nv_bfloat16* weight, __nv_bfloat16* y,
                             __nv_bfloat16* residual_out, int rows, int hidden, float eps,
                             cudaStream_t stream) {
  if (hidden != k_hidden) return cudaErrorInvalidValue;
  const int blocks = rows < resident_blocks() ? rows : resident_blocks();
  rmsnorm_rows<<<blocks, k_threads, 0, stream>>>(
      reinterpret_cast<const Eight*>(x), reinterpret_cast<const Eight*>(residual),
      reinterpret_cast<const Eight*>(weight), reinterpret_cast<Eight*>(y),
      reinterpret_cast<Eight*>(residual_out), rows, eps);
  return cudaGetLastError();
}
