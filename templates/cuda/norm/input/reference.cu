// In float64, one block a row. q is what float8 will round, before the rounding.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

enum class Join { sum, max };

__device__ double block_join(double value, Join join, double* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const double other = shared[threadIdx.x + half];
      shared[threadIdx.x] = join == Join::max ? fmax(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
    }
    __syncthreads();
  }
  const double result = shared[0];
  __syncthreads();
  return result;
}

__global__ void rows_in_double(const __nv_bfloat16* x, const __nv_bfloat16* residual, const __nv_bfloat16* weight,
                               double* q, double* row_scale, double* residual_out, int hidden, double eps) {
  __shared__ double shared[256];
  const long long begin = static_cast<long long>(blockIdx.x) * hidden;
  double sum = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    const double exact = static_cast<double>(__bfloat162float(x[begin + i])) +
                         static_cast<double>(__bfloat162float(residual[begin + i]));
    const double s = static_cast<double>(__bfloat162float(__double2bfloat16(exact)));
    residual_out[begin + i] = s;
    sum += s * s;
  }
  const double scale = 1.0 / sqrt(block_join(sum, Join::sum, shared) / hidden + eps);
  double highest = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x)
    highest = fmax(highest, fabs(residual_out[begin + i] * scale * static_cast<double>(__bfloat162float(weight[i]))));
  highest = fmax(block_join(highest, Join::max, shared), 1e-12);
  if (threadIdx.x == 0) row_scale[blockIdx.x] = highest / 448.0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x)
    q[begin + i] =
        residual_out[begin + i] * scale * static_cast<double>(__bfloat162float(weight[i])) * (448.0 / highest);
}

void rmsnorm_quant_reference(const __nv_bfloat16* x, const __nv_bfloat16* residual, const __nv_bfloat16* weight,
                             double* q, double* row_scale, double* residual_out, int rows, int hidden, float eps,
                             cudaStream_t stream) {
  rows_in_double<<<rows, 256, 0, stream>>>(x, residual, weight, q, row_scale, residual_out, hidden,
                                           static_cast<double>(eps));
}
