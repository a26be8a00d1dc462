// As it is written first: 32 by 32 tiles of floats in shared memory, scaled while they are loaded.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cuda_fp8.h>

constexpr int k_tile = 32;

__global__ void gemm_kernel(const __nv_fp8_e4m3* a, const float* scale_a, const __nv_fp8_e4m3* b,
                            const float* scale_b, __nv_bfloat16* d, int rows, int columns, int depth) {
  __shared__ float tile_a[k_tile][k_tile + 1], tile_b[k_tile][k_tile + 1];
  const int row = blockIdx.y * k_tile + threadIdx.y, column = blockIdx.x * k_tile + threadIdx.x;
  const int b_row = blockIdx.x * k_tile + threadIdx.y, blocks = depth / 128;
  float sum = 0;
  for (int k = 0; k < depth; k += k_tile) {
    const int at = k + threadIdx.x;
    tile_a[threadIdx.y][threadIdx.x] =
        row < rows ? static_cast<float>(a[static_cast<size_t>(row) * depth + at]) *
                         scale_a[static_cast<size_t>(at / 128) * rows + row]
                   : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = static_cast<float>(b[static_cast<size_t>(b_row) * depth + at]) *
                                       scale_b[static_cast<size_t>(b_row / 128) * blocks + at / 128];
    __syncthreads();
    for (int i = 0; i < k_tile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[threadIdx.x][i];
    __syncthreads();
  }
  if (row < rows) d[static_cast<size_t>(row) * columns + column] = __float2bfloat16(sum);
}

int gemm_fp8_plan(const __nv_fp8_e4m3*, const float*, const __nv_fp8_e4m3*, const float*, __nv_bfloat16*,
                  void*, int, int columns, int depth, cudaStream_t) {
  return depth % 128 == 0 && columns % 128 == 0 ? 0 : 1;
}

cudaError_t gemm_fp8(const __nv_fp8_e4m3* a, const float* scale_a, const __nv_fp8_e4m3* b, const float* scale_b,
                     __nv_bfloat16* d, void*, int rows, int columns, int depth, cudaStream_t stream) {
  const dim3 block(k_tile, k_tile), grid(columns / k_tile, (rows + k_tile - 1) / k_tile);
  gemm_kernel<<<grid, block, 0, stream>>>(a, scale_a, b, scale_b, d, rows, columns, depth);
  return cudaGetLastError();
}
