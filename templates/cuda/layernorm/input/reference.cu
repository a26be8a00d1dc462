// In float64, one block a row; the sum is rounded to bfloat16 first, as the definition says.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__device__ double block_sum(double value, double* sums) {
  sums[threadIdx.x] = value;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  const double total = sums[0];
  __syncthreads();
  return total;
}

__global__ void rows_in_double(const __nv_bfloat16* x, const __nv_bfloat16* residual, const __nv_bfloat16* weight,
                               const __nv_bfloat16* bias, double* y, double* residual_out, int hidden, double eps) {
  __shared__ double sums[256];
  const long long begin = static_cast<long long>(blockIdx.x) * hidden;
  double sum = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    const double exact = static_cast<double>(__bfloat162float(x[begin + i])) +
                         static_cast<double>(__bfloat162float(residual[begin + i]));
    residual_out[begin + i] = static_cast<double>(__bfloat162float(__double2bfloat16(exact)));
    sum += residual_out[begin + i];
  }
  const double mean = block_sum(sum, sums) / hidden;
  double squares = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    const double off = residual_out[begin + i] - mean;
    squares += off * off;
  }
  const double scale = 1.0 / sqrt(block_sum(squares, sums) / hidden + eps);
  for (int i = threadIdx.x; i < hidden; i += blockDim.x)
    y[begin + i] = (residual_out[begin + i] - mean) * scale * static_cast<double>(__bfloat162float(weight[i])) +
                   static_cast<double>(__bfloat162float(bias[i]));
}

void layernorm_residual_reference(const __nv_bfloat16* x, const __nv_bfloat16* residual, const __nv_bfloat16* weight,
                                  const __nv_bfloat16* bias, double* y, double* residual_out, int rows, int hidden,
                                  float eps, cudaStream_t stream) {
  rows_in_double<<<rows, 256, 0, stream>>>(x, residual, weight, bias, y, residual_out, hidden,
                                           static_cast<double>(eps));
}
