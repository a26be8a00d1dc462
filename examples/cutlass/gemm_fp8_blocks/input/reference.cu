// In float64, 16 by 16 tiles through shared memory.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cuda_fp8.h>

constexpr int k_tile = 16;

__global__ void product_in_double(const __nv_fp8_e4m3* a, const float* scale_a, const __nv_fp8_e4m3* b,
                                  const float* scale_b, double* d, int rows, int columns, int depth) {
  __shared__ double tile_a[k_tile][k_tile + 1], tile_b[k_tile][k_tile + 1];
  const int row = blockIdx.y * k_tile + threadIdx.y, column = blockIdx.x * k_tile + threadIdx.x;
  const int b_row = blockIdx.x * k_tile + threadIdx.y, blocks = depth / 128;
  double sum = 0;
  for (int k = 0; k < depth; k += k_tile) {
    const int at = k + threadIdx.x;
    tile_a[threadIdx.y][threadIdx.x] =
        row < rows ? static_cast<double>(static_cast<float>(a[static_cast<long long>(row) * depth + at])) *
                         static_cast<double>(scale_a[static_cast<long long>(at / 128) * rows + row])
                   : 0.0;
    tile_b[threadIdx.y][threadIdx.x] =
        static_cast<double>(static_cast<float>(b[static_cast<long long>(b_row) * depth + at])) *
        static_cast<double>(scale_b[static_cast<long long>(b_row / 128) * blocks + at / 128]);
    __syncthreads();
    for (int i = 0; i < k_tile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[threadIdx.x][i];
    __syncthreads();
  }
  if (row < rows) d[static_cast<long long>(row) * columns + column] = sum;
}

void gemm_fp8_reference(const __nv_fp8_e4m3* a, const float* scale_a, const __nv_fp8_e4m3* b, const float* scale_b,
                        double* d, void*, int rows, int columns, int depth, cudaStream_t stream) {
  const dim3 block(k_tile, k_tile), grid(columns / k_tile, (rows + k_tile - 1) / k_tile);
  product_in_double<<<grid, block, 0, stream>>>(a, scale_a, b, scale_b, d, rows, columns, depth);
}
