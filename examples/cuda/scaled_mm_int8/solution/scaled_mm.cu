// The kernel as it is written first: 16 by 16 tiles of bytes in shared memory, one element of the answer a thread.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr int k_tile = 16;

__global__ void scaled_mm_kernel(const int8_t* a, const int8_t* b, const float* scale_a,
                                 const float* scale_b, const __nv_bfloat16* bias, __nv_bfloat16* d,
                                 int rows, int columns, int depth) {
  __shared__ int8_t tile_a[k_tile][k_tile], tile_b[k_tile][k_tile];
  const int row = blockIdx.y * k_tile + threadIdx.y, column = blockIdx.x * k_tile + threadIdx.x;
  int sum = 0;
  for (int k = 0; k < depth; k += k_tile) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * depth + k + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(blockIdx.x * k_tile + threadIdx.y) * depth + k + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < k_tile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[threadIdx.x][i];
    __syncthreads();
  }
  d[row * columns + column] = __float2bfloat16(static_cast<float>(sum) * scale_a[row] * scale_b[column] +
                                               __bfloat162float(bias[column]));
}

cudaError_t scaled_mm(const int8_t* a, const int8_t* b, const float* scale_a, const float* scale_b,
                      const __nv_bfloat16* bias, __nv_bfloat16* d, int rows, int columns, int depth,
                      cudaStream_t stream) {
  if (rows % k_tile != 0 || columns % k_tile != 0 || depth % k_tile != 0)
    return cudaErrorInvalidValue;
  scaled_mm_kernel<<<dim3(columns / k_tile, rows / k_tile), dim3(k_tile, k_tile), 0, stream>>>(
      a, b, scale_a, scale_b, bias, d, rows, columns, depth);
  return cudaGetLastError();
}
