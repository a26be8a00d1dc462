// In float64, one block a row; the sum is rounded to bfloat16 first, as the definition says.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void rows_in_double(const __nv_bfloat16* x, const __nv_bfloat16* residual,
                               const __nv_bfloat16* weight, double* y, double* residual_out,
                               int hidden, double eps) {
  __shared__ double sums[256];
  const long long begin = static_cast<long long>(blockIdx.x) * hidden;
  double sum = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    const double exact = static_cast<double>(__bfloat162float(x[begin + i])) +
                         static_cast<double>(__bfloat162float(residual[begin + i]));
    const double s = static_cast<double>(__bfloat162float(__double2bfloat16(exact)));
    residual_out[begin + i] = s;
    sum += s * s;
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  const double scale = 1.0 / sqrt(sums[0] / hidden + eps);
  for (int i = threadIdx.x; i < hidden; i += blockDim.x)
    y[begin + i] =
        residual_out[begin + i] * scale * static_cast<double>(__bfloat162float(weight[i]));
}

void rmsnorm_residual_reference(const __nv_bfloat16* x, const __nv_bfloat16* residual,
                                const __nv_bfloat16* weight, double* y, double* residual_out,
                                int rows, int hidden, float eps, cudaStream_t stream) {
  rows_in_double<<<rows, 256, 0, stream>>>(x, residual, weight, y, residual_out, hidden,
                                           static_cast<double>(eps));
}
