// Four products an instruction on words of four bytes: a quarter of the loads and of the arithmetic.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr int k_tile = 16; ///< words, and elements of the answer

__global__ void scaled_mm_kernel(const int* a, const int* b, const float* scale_a,
                                 const float* scale_b, const __nv_bfloat16* bias, __nv_bfloat16* d,
                                 int columns, int words) {
  __shared__ int tile_a[k_tile][k_tile + 1], tile_b[k_tile][k_tile + 1];
  const int row = blockIdx.y * k_tile + threadIdx.y, column = blockIdx.x * k_tile + threadIdx.x;
  int sum = 0;
  for (int k = 0; k < words; k += k_tile) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * words + k + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] =
        b[(blockIdx.x * k_tile + threadIdx.y) * words + k + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < k_tile; ++i)
      sum = __dp4a(tile_a[threadIdx.y][i], tile_b[threadIdx.x][i], sum);
    __syncthreads();
  }
  d[row * columns + column] =
      __float2bfloat16(static_cast<float>(sum) * scale_a[row] * scale_b[column] +
                       __bfloat162float(bias[column]));
}

cudaError_t scaled_mm(const int8_t* a, const int8_t* b, const float* scale_a, const float* scale_b,
                      const __nv_bfloat16* bias, __nv_bfloat16* d, int rows, int columns, int depth,
                      cudaStream_t stream) {
  if (rows % k_tile != 0 || columns % k_tile != 0 || depth % (4 * k_tile) != 0)
    return cudaErrorInvalidValue;
  scaled_mm_kernel<<<dim3(columns / k_tile, rows / k_tile), dim3(k_tile, k_tile), 0, stream>>>(
      reinterpret_cast<const int*>(a), reinterpret_cast<const int*>(b), scale_a, scale_b, bias, d,
      columns, depth / 4);
  return cudaGetLastError();
}
