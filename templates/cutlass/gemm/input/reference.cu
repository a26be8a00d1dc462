// In float64, 16 by 16 tiles through shared memory.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_tile = 16;

__global__ void product_in_double(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                  const __nv_bfloat16* bias, double* d, int rows, int columns,
                                  int depth) {
  __shared__ double tile_a[k_tile][k_tile + 1], tile_b[k_tile][k_tile + 1];
  const int row = blockIdx.y * k_tile + threadIdx.y, column = blockIdx.x * k_tile + threadIdx.x;
  const int b_row = blockIdx.x * k_tile + threadIdx.y;
  double sum = 0;
  for (int k = 0; k < depth; k += k_tile) {
    const int at = k + threadIdx.x;
    const bool inside = at < depth;
    tile_a[threadIdx.y][threadIdx.x] =
        inside && row < rows
            ? static_cast<double>(__bfloat162float(a[static_cast<long long>(row) * depth + at]))
            : 0.0;
    tile_b[threadIdx.y][threadIdx.x] =
        inside && b_row < columns
            ? static_cast<double>(__bfloat162float(b[static_cast<long long>(b_row) * depth + at]))
            : 0.0;
    __syncthreads();
    for (int i = 0; i < k_tile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[threadIdx.x][i];
    __syncthreads();
  }
  if (row >= rows || column >= columns) return;
  const double x = sum + static_cast<double>(__bfloat162float(bias[column]));
  d[static_cast<long long>(row) * columns + column] = x / (1.0 + exp(-x));
}

void gemm_bias_silu_reference(const __nv_bfloat16* a, const __nv_bfloat16* b,
                              const __nv_bfloat16* bias, double* d, int rows, int columns,
                              int depth, cudaStream_t stream) {
  const dim3 block(k_tile, k_tile);
  const dim3 grid((columns + k_tile - 1) / k_tile, (rows + k_tile - 1) / k_tile);
  product_in_double<<<grid, block, 0, stream>>>(a, b, bias, d, rows, columns, depth);
}
