// Short rows go to a warp each: no barrier, no shared memory, and all loads of a row of 1024 in flight at once.
#include <cuda_runtime.h>

#ifndef THREADS
#define THREADS 256
#endif
#ifndef FLIGHT
#define FLIGHT 4
#endif
constexpr int k_threads = THREADS;
constexpr int k_flight = FLIGHT;
constexpr int k_slices_at_most = 4096; ///< of all rows together: what the workspace holds
constexpr long long k_slice_at_least = 4 * k_flight * k_threads; ///< vectors

__device__ float block_sum(float value) {
  __shared__ float warps[k_threads / 32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (int warp = 0; warp < k_threads / 32; ++warp) total += warps[warp];
  return total;
}

__device__ float sum_of(const float4* from, long long vectors) {
  float sums[k_flight] = {};
  long long i = threadIdx.x;
  for (; i + (k_flight - 1) * k_threads < vectors; i += k_flight * k_threads) {
    float4 v[k_flight];
#pragma unroll
    for (int f = 0; f < k_flight; ++f) v[f] = __ldcs(from + i + f * k_threads);
#pragma unroll
    for (int f = 0; f < k_flight; ++f) sums[f] += (v[f].x + v[f].y) + (v[f].z + v[f].w);
  }
  for (; i < vectors; i += k_threads) {
    const float4 v = __ldcs(from + i);
    sums[0] += (v.x + v.y) + (v.z + v.w);
  }
  float total = 0;
#pragma unroll
  for (int f = 0; f < k_flight; ++f) total += sums[f];
  return total;
}

/// Block row * slices + slice writes the sum of that slice.
__global__ void __launch_bounds__(k_threads)
    slice_sums(const float4* x, float* to, long long vectors, long long slice_vectors, int slices) {
  const long long row = blockIdx.x / slices, slice = blockIdx.x % slices;
  const long long begin = slice * slice_vectors;
  const long long left = vectors - begin;
  const float sum =
      block_sum(sum_of(x + row * vectors + begin, left < slice_vectors ? left : slice_vectors));
  if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(k_threads) add_slices(const float* from, float* y, int slices) {
  float sum = 0;
  for (int i = threadIdx.x; i < slices; i += k_threads) sum += from[blockIdx.x * slices + i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

/// Each warp takes a row of at most 32 * Each vectors.
template <int Each>
__global__ void __launch_bounds__(k_threads)
    short_rows(const float4* x, float* y, long long rows, int vectors) {
  const long long row = (static_cast<long long>(blockIdx.x) * k_threads + threadIdx.x) / 32;
  if (row >= rows) return;
  const int lane = threadIdx.x % 32;
  float4 v[Each];
#pragma unroll
  for (int i = 0; i < Each; ++i)
    v[i] = i * 32 + lane < vectors ? __ldcs(x + row * vectors + i * 32 + lane)
                                   : make_float4(0, 0, 0, 0);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < Each; ++i) sum += (v[i].x + v[i].y) + (v[i].z + v[i].w);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) y[row] = sum;
}

cudaError_t row_sum(const float* x, float* partial, float* y, long long rows, long long columns,
                    cudaStream_t stream) {
  const long long vectors = columns / 4;
  const auto* from = reinterpret_cast<const float4*>(x);
  if (vectors <= 256 && rows >= 1024) {
    const auto blocks = static_cast<unsigned>((rows * 32 + k_threads - 1) / k_threads);
    short_rows<8><<<blocks, k_threads, 0, stream>>>(from, y, rows, static_cast<int>(vectors));
    return cudaGetLastError();
  }
  long long slices = rows < k_slices_at_most ? k_slices_at_most / rows : 1;
  const long long useful = (vectors + k_slice_at_least - 1) / k_slice_at_least;
  if (slices > useful) slices = useful;
  // Enough blocks without slices: a second kernel would only cost its launch.
  if (rows >= 2048 || slices < 2) slices = 1;
  const long long each = (vectors + slices - 1) / slices;
  slices = (vectors + each - 1) / each;
  float* to = slices == 1 ? y : partial;
  slice_sums<<<static_cast<unsigned>(rows * slices), k_threads, 0, stream>>>(
      from, to, vectors, each, static_cast<int>(slices));
  if (slices > 1)
    add_slices<<<static_cast<unsigned>(rows), k_threads, 0, stream>>>(partial, y,
                                                                      static_cast<int>(slices));
  return cudaGetLastError();
}
