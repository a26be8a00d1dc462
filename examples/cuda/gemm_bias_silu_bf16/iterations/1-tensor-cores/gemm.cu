// Tensor cores through mma fragments: tiles of 128 by 128 in shared memory, four warps with 64 by 64 each.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

constexpr int k_tile = 128, k_deep = 32, k_pitch = k_deep + 8; // rows 16 bytes apart in banks

__device__ float silu(float x) { return x / (1.0f + __expf(-x)); }

__global__ void __launch_bounds__(128)
    gemm_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* bias,
                __nv_bfloat16* d, int rows, int columns, int depth) {
  __shared__ __align__(32) __nv_bfloat16 tile_a[k_tile * k_pitch], tile_b[k_tile * k_pitch];
  __shared__ float staged[4][16 * 16];
  const int row0 = blockIdx.y * k_tile, column0 = blockIdx.x * k_tile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / 2 * 64, warp_column = warp % 2 * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4][4];
#pragma unroll
  for (auto& line : sums)
#pragma unroll
    for (auto& sum : line) wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < depth; k += k_deep) {
    // 128 rows of 32 values: 512 vectors of eight for each tile, four a thread.
    for (int i = threadIdx.x; i < k_tile * k_deep / 8; i += 128) {
      const int row = i / 4, part = i % 4 * 8;
      uint4 va = {}, vb = {};
      if (row0 + row < rows)
        va = *reinterpret_cast<const uint4*>(a + static_cast<size_t>(row0 + row) * depth + k + part);
      if (column0 + row < columns)
        vb = *reinterpret_cast<const uint4*>(b + static_cast<size_t>(column0 + row) * depth + k + part);
      *reinterpret_cast<uint4*>(tile_a + row * k_pitch + part) = va;
      *reinterpret_cast<uint4*>(tile_b + row * k_pitch + part) = vb;
    }
    __syncthreads();
    for (int step = 0; step < k_deep; step += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        wmma::load_matrix_sync(fa[i], tile_a + (warp_row + i * 16) * k_pitch + step, k_pitch);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
        wmma::load_matrix_sync(fb, tile_b + (warp_column + j * 16) * k_pitch + step, k_pitch);
#pragma unroll
        for (int i = 0; i < 4; ++i) wmma::mma_sync(sums[i][j], fa[i], fb, sums[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      wmma::store_matrix_sync(staged[warp], sums[i][j], 16, wmma::mem_row_major);
      __syncwarp();
      for (int e = lane; e < 256; e += 32) {
        const int row = row0 + warp_row + i * 16 + e / 16;
        const int column = column0 + warp_column + j * 16 + e % 16;
        if (row < rows && column < columns)
          d[static_cast<size_t>(row) * columns + column] =
              __float2bfloat16(silu(staged[warp][e] + __bfloat162float(bias[column])));
      }
      __syncwarp();
    }
}

cudaError_t gemm_bias_silu(const __nv_bfloat16* a, const __nv_bfloat16* b,
                           const __nv_bfloat16* bias, __nv_bfloat16* d, int rows, int columns,
                           int depth, cudaStream_t stream) {
  if (depth % k_deep != 0) return cudaErrorInvalidValue;
  const dim3 grid((columns + k_tile - 1) / k_tile, (rows + k_tile - 1) / k_tile);
  gemm_kernel<<<grid, 128, 0, stream>>>(a, b, bias, d, rows, columns, depth);
  return cudaGetLastError();
}
