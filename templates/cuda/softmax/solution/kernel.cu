// Wide rows go to clusters of small blocks: with one block of 1024 threads a row, a multiprocessor reads, waits and
// writes in turn; with four of 256, several rows overlap.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <utility>

#ifndef CLUSTERS_FROM
#define CLUSTERS_FROM 1024 // vectors of eight: rows wider than this are shared by a cluster
#endif

constexpr float k_log2e = 1.4426950408889634f;

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

/// Minus infinity, eight times.
__device__ Eight nothing() {
  const __nv_bfloat162 low = __float2bfloat162_rn(-INFINITY);
  return {{low, low, low, low}};
}

template <int Warps> __device__ float block_max(float value, float* shared) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  if (Warps == 1) return value;
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[threadIdx.x % Warps];
#pragma unroll
  for (int step = Warps / 2; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

template <int Warps> __device__ float block_sum(float value, float* shared) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (Warps == 1) return value;
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[threadIdx.x % Warps];
#pragma unroll
  for (int step = Warps / 2; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// A row stays in the registers of one block: read once, written once.
template <int Threads, int Each>
__global__ void __launch_bounds__(Threads)
    softmax_kernel(const Eight* __restrict__ x, Eight* __restrict__ y, int vectors) {
  __shared__ float maxima[32], sums[32];
  const size_t begin = static_cast<size_t>(blockIdx.x) * vectors;
  Eight v[Each];
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const int at = i * Threads + threadIdx.x;
    v[i] = at < vectors ? load_once(x + begin + at) : nothing();
  }
  __nv_bfloat162 pairs = __float2bfloat162_rn(-INFINITY);
#pragma unroll
  for (int i = 0; i < Each; ++i)
#pragma unroll
    for (int p = 0; p < 4; ++p) pairs = __hmax2(pairs, v[i].pair[p]);
  float highest = fmaxf(__low2float(pairs), __high2float(pairs));
  highest = block_max<Threads / 32>(highest, maxima) * k_log2e;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < Each; ++i)
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v[i].pair[p]);
      sum += exp2f(fmaf(f.x, k_log2e, -highest)) + exp2f(fmaf(f.y, k_log2e, -highest));
    }
  // exp(x - max) / sum = 2^(x log2(e) - max log2(e) - log2(sum))
  const float shift = highest + log2f(block_sum<Threads / 32>(sum, sums));
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const int at = i * Threads + threadIdx.x;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v[i].pair[p]);
      v[i].pair[p] = __floats2bfloat162_rn(exp2f(fmaf(f.x, k_log2e, -shift)),
                                           exp2f(fmaf(f.y, k_log2e, -shift)));
    }
    if (at < vectors) store_once(y + begin + at, v[i]);
  }
}

template <int Threads, int Each>
void launch(const Eight* x, Eight* y, int rows, int vectors, cudaStream_t stream) {
  softmax_kernel<Threads, Each><<<rows, Threads, 0, stream>>>(x, y, vectors);
}

/// A wide row is shared by a cluster of blocks, each with its part in registers. Small blocks of several rows live side
/// by side on a multiprocessor, so that one row's loads hide another row's waiting.
template <int Blocks, int Threads, int Each>
__global__ void __launch_bounds__(Threads)
    softmax_cluster(const Eight* __restrict__ x, Eight* __restrict__ y, int vectors) {
  __shared__ float maxima[32], sums[32];
  __shared__ float parts[2][Blocks]; ///< written by every block of the cluster: maxima, sums
  const auto cluster = cooperative_groups::this_cluster();
  auto begun = cluster.barrier_arrive(); // awaited before another block's shared memory is written
  const unsigned rank = cluster.block_rank();
  const size_t begin = static_cast<size_t>(blockIdx.x / Blocks) * vectors;
  const int first = static_cast<int>(rank) * Threads * Each;
  Eight v[Each];
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const int at = first + i * Threads + threadIdx.x;
    v[i] = at < vectors ? load_once(x + begin + at) : nothing();
  }
  __nv_bfloat162 pairs = __float2bfloat162_rn(-INFINITY);
#pragma unroll
  for (int i = 0; i < Each; ++i)
#pragma unroll
    for (int p = 0; p < 4; ++p) pairs = __hmax2(pairs, v[i].pair[p]);
  // The block's own maximum serves its exponentials; what the row needs beside is one number a block.
  const float own =
      block_max<Threads / 32>(fmaxf(__low2float(pairs), __high2float(pairs)), maxima) * k_log2e;
  const float base = own == -INFINITY ? 0.0f : own; // a block past the row's end
  float sum = 0;
#pragma unroll
  for (int i = 0; i < Each; ++i)
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v[i].pair[p]);
      sum += exp2f(fmaf(f.x, k_log2e, -base)) + exp2f(fmaf(f.y, k_log2e, -base));
    }
  sum = block_sum<Threads / 32>(sum, sums);
  cluster.barrier_wait(std::move(begun));
  if (threadIdx.x < Blocks) {
    cluster.map_shared_rank(&parts[0][0], threadIdx.x)[rank] = own;
    cluster.map_shared_rank(&parts[1][0], threadIdx.x)[rank] = sum;
  }
  cluster.sync();
  float highest = -INFINITY, total = 0;
#pragma unroll
  for (int b = 0; b < Blocks; ++b) highest = fmaxf(highest, parts[0][b]);
#pragma unroll
  for (int b = 0; b < Blocks; ++b) total += parts[1][b] * exp2f(parts[0][b] - highest);
  const float shift = highest + log2f(total);
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const int at = first + i * Threads + threadIdx.x;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v[i].pair[p]);
      v[i].pair[p] = __floats2bfloat162_rn(exp2f(fmaf(f.x, k_log2e, -shift)),
                                           exp2f(fmaf(f.y, k_log2e, -shift)));
    }
    if (at < vectors) store_once(y + begin + at, v[i]);
  }
}

template <int Blocks, int Threads, int Each>
cudaError_t launch_cluster(const Eight* x, Eight* y, int rows, int vectors, cudaStream_t stream) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = Blocks;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(rows) * Blocks);
  config.blockDim = dim3(Threads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, softmax_cluster<Blocks, Threads, Each>, x, y, vectors);
}

cudaError_t softmax_rows(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int columns,
                         cudaStream_t stream) {
  const auto* from = reinterpret_cast<const Eight*>(x);
  auto* to = reinterpret_cast<Eight*>(y);
  const int vectors = columns / 8;
  if (vectors <= 32) launch<32, 1>(from, to, rows, vectors, stream);
  else if (vectors <= 128) launch<128, 1>(from, to, rows, vectors, stream);
  else if (vectors <= 512) launch<128, 4>(from, to, rows, vectors, stream);
  else if (vectors <= 1024) launch<256, 4>(from, to, rows, vectors, stream);
  else if (vectors <= CLUSTERS_FROM && vectors <= 2048) launch<512, 4>(from, to, rows, vectors, stream);
  else if (vectors <= CLUSTERS_FROM) launch<1024, 4>(from, to, rows, vectors, stream);
  else if (vectors <= 2048) return launch_cluster<2, 256, 4>(from, to, rows, vectors, stream);
  else if (vectors <= 4096) return launch_cluster<4, 256, 4>(from, to, rows, vectors, stream);
  else return cudaErrorInvalidValue;
  return cudaGetLastError();
}
