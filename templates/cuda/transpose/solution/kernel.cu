// Sixteen bytes on both sides. Two rows are woven into words of two values while they are in registers, so that shared memory
// holds words and every access to it is four bytes wide.
#include <cuda_runtime.h>

#include <cstdint>

#ifndef ROWS_A_BLOCK
#define ROWS_A_BLOCK 2 // tiles of a block, one below the other: their loads overlap
#endif
constexpr int k_tile = 64;
constexpr int k_threads = 256;

__device__ uint32_t word(const uint4& v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

__global__ void __launch_bounds__(k_threads)
    transpose_tiles(const uint16_t* __restrict__ x, uint16_t* __restrict__ y, int rows, int columns) {
  __shared__ uint32_t tile[ROWS_A_BLOCK][k_tile][k_tile / 2 + 1]; // [column][pair of rows]
  const int chunk = threadIdx.x % 8, pair = threadIdx.x / 8; // eight columns; two rows
  const int column = blockIdx.x * k_tile + chunk * 8;
  uint4 upper[ROWS_A_BLOCK], lower[ROWS_A_BLOCK];
#pragma unroll
  for (int t = 0; t < ROWS_A_BLOCK; ++t) {
    const int row = (blockIdx.y * ROWS_A_BLOCK + t) * k_tile + pair * 2;
    upper[t] = lower[t] = make_uint4(0, 0, 0, 0);
    if (row >= rows || column >= columns) continue; // both are multiples of eight
    const size_t at = static_cast<size_t>(row) * columns + column;
    upper[t] = __ldcs(reinterpret_cast<const uint4*>(x + at));
    lower[t] = __ldcs(reinterpret_cast<const uint4*>(x + at + columns));
  }
#pragma unroll
  for (int t = 0; t < ROWS_A_BLOCK; ++t)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t a = word(upper[t], i), b = word(lower[t], i);
      tile[t][chunk * 8 + i * 2][pair] = __byte_perm(a, b, 0x5410);     // low halves
      tile[t][chunk * 8 + i * 2 + 1][pair] = __byte_perm(a, b, 0x7632); // high halves
    }
  __syncthreads();
#pragma unroll
  for (int t = 0; t < ROWS_A_BLOCK; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int line = half * 32 + threadIdx.x / 8, part = threadIdx.x % 8; // a column of x; eight of its rows
      const int out = blockIdx.x * k_tile + line;
      const int row = (blockIdx.y * ROWS_A_BLOCK + t) * k_tile + part * 8;
      if (out >= columns || row >= rows) continue;
      const uint32_t* from = &tile[t][line][part * 4];
      __stcs(reinterpret_cast<uint4*>(y + static_cast<size_t>(out) * rows + row),
             make_uint4(from[0], from[1], from[2], from[3]));
    }
}

cudaError_t transpose2d(const uint16_t* x, uint16_t* y, int rows, int columns, cudaStream_t stream) {
  if (rows % 8 != 0 || columns % 8 != 0) return cudaErrorInvalidValue;
  const int high = k_tile * ROWS_A_BLOCK;
  const dim3 grid((columns + k_tile - 1) / k_tile, (rows + high - 1) / high);
  transpose_tiles<<<grid, k_threads, 0, stream>>>(x, y, rows, columns);
  return cudaGetLastError();
}
