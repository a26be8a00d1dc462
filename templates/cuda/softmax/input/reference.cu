// In float64, one block a row, three trips.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

enum class Join { max, sum };

__device__ double block_join(double value, Join join, double* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const double other = shared[threadIdx.x + half];
      shared[threadIdx.x] =
          join == Join::max ? fmax(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
    }
    __syncthreads();
  }
  const double result = shared[0];
  __syncthreads();
  return result;
}

__global__ void rows_in_double(const __nv_bfloat16* x, double* y, int columns) {
  __shared__ double shared[256];
  const long long begin = static_cast<long long>(blockIdx.x) * columns;
  double highest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    highest = fmax(highest, static_cast<double>(__bfloat162float(x[begin + i])));
  highest = block_join(highest, Join::max, shared);
  double sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const double e = exp(static_cast<double>(__bfloat162float(x[begin + i])) - highest);
    y[begin + i] = e;
    sum += e;
  }
  sum = block_join(sum, Join::sum, shared);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[begin + i] /= sum;
}

void softmax_rows_reference(const __nv_bfloat16* x, double* y, int rows, int columns,
                            cudaStream_t stream) {
  rows_in_double<<<rows, 256, 0, stream>>>(x, y, columns);
}
