// In float64, one row of a tile after the other; the expert of a row is looked for by every block.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_tile = 16;

__global__ void grouped_in_double(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                  const int* offsets, double* d, int experts, int columns,
                                  int depth) {
  __shared__ double tile_a[k_tile][k_tile + 1], tile_b[k_tile][k_tile + 1];
  int expert = 0, tile = blockIdx.y;
  for (; expert < experts; ++expert) {
    const int tiles = (offsets[expert + 1] - offsets[expert] + k_tile - 1) / k_tile;
    if (tile < tiles) break;
    tile -= tiles;
  }
  if (expert == experts) return;
  const int end = offsets[expert + 1], row = offsets[expert] + tile * k_tile + threadIdx.y;
  const int column = blockIdx.x * k_tile + threadIdx.x, b_row = blockIdx.x * k_tile + threadIdx.y;
  const __nv_bfloat16* weights = b + static_cast<size_t>(expert) * columns * depth;
  double sum = 0;
  for (int k = 0; k < depth; k += k_tile) {
    const int at = k + threadIdx.x;
    tile_a[threadIdx.y][threadIdx.x] =
        row < end && at < depth
            ? static_cast<double>(__bfloat162float(a[static_cast<size_t>(row) * depth + at]))
            : 0.0;
    tile_b[threadIdx.y][threadIdx.x] =
        b_row < columns && at < depth
            ? static_cast<double>(__bfloat162float(weights[static_cast<size_t>(b_row) * depth + at]))
            : 0.0;
    __syncthreads();
    for (int i = 0; i < k_tile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[threadIdx.x][i];
    __syncthreads();
  }
  if (row < end && column < columns) d[static_cast<size_t>(row) * columns + column] = sum;
}

void grouped_gemm_reference(const __nv_bfloat16* a, const __nv_bfloat16* b, const int* offsets,
                            double* d, void*, int rows, int experts, int columns, int depth,
                            cudaStream_t stream) {
  const dim3 block(k_tile, k_tile);
  const dim3 grid((columns + k_tile - 1) / k_tile, (rows + k_tile - 1) / k_tile + experts);
  grouped_in_double<<<grid, block, 0, stream>>>(a, b, offsets, d, experts, columns, depth);
}
