// The kernel as it is written first: one block a row, the row read three times, one element a step.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void softmax_kernel(const __nv_bfloat16* x, __nv_bfloat16* y, int columns) {
  __shared__ float shared[256];
  const size_t begin = static_cast<size_t>(blockIdx.x) * columns;
  const int tid = threadIdx.x;

  float highest = -INFINITY;
  for (int i = tid; i < columns; i += blockDim.x)
    highest = fmaxf(highest, __bfloat162float(x[begin + i]));
  shared[tid] = highest;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (tid < half) shared[tid] = fmaxf(shared[tid], shared[tid + half]);
    __syncthreads();
  }
  highest = shared[0];
  __syncthreads();

  float sum = 0;
  for (int i = tid; i < columns; i += blockDim.x) sum += expf(__bfloat162float(x[begin + i]) - highest);
  shared[tid] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (tid < half) shared[tid] += shared[tid + half];
    __syncthreads();
  }
  sum = shared[0];

  for (int i = tid; i < columns; i += blockDim.x)
    y[begin + i] = __float2bfloat16(expf(__bfloat162float(x[begin + i]) - highest) / sum);
}

cudaError_t softmax_rows(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int columns,
                         cudaStream_t stream) {
  softmax_kernel<<<rows, 256, 0, stream>>>(x, y, columns);
  return cudaGetLastError();
}
