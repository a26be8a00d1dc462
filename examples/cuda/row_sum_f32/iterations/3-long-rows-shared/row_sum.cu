// A few long rows leave most multiprocessors idle: each is cut into slices, a block a slice, and a second kernel adds
// the slices in their order, so that the answer is the same every time.
#include <cuda_runtime.h>

constexpr int k_threads = 256;
constexpr int k_flight = 4;
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
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
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

cudaError_t row_sum(const float* x, float* partial, float* y, long long rows, long long columns,
                    cudaStream_t stream) {
  const long long vectors = columns / 4;
  const auto* from = reinterpret_cast<const float4*>(x);
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
