// As it is found: the norm writes bfloat16-sized steps of its own and a second sweep over the row quantises.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cuda_fp8.h>

enum class Join { sum, max };

__device__ float block_join(float value, Join join, float* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const float other = shared[threadIdx.x + half];
      shared[threadIdx.x] = join == Join::max ? fmaxf(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
    }
    __syncthreads();
  }
  const float result = shared[0];
  __syncthreads();
  return result;
}

__global__ void norm_rows(const __nv_bfloat16* x, const __nv_bfloat16* residual, const __nv_bfloat16* weight,
                          __nv_fp8_e4m3* q, float* row_scale, __nv_bfloat16* residual_out, int hidden, float eps) {
  __shared__ float shared[256];
  const size_t begin = static_cast<size_t>(blockIdx.x) * hidden;
  float sum = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    const __nv_bfloat16 s = __hadd(x[begin + i], residual[begin + i]);
    residual_out[begin + i] = s;
    sum += __bfloat162float(s) * __bfloat162float(s);
  }
  const float scale = rsqrtf(block_join(sum, Join::sum, shared) / hidden + eps);
  float highest = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x)
    highest = fmaxf(highest, fabsf(__bfloat162float(residual_out[begin + i]) * scale * __bfloat162float(weight[i])));
  highest = fmaxf(block_join(highest, Join::max, shared), 1e-12f);
  if (threadIdx.x == 0) row_scale[blockIdx.x] = highest / 448.0f;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x)
    q[begin + i] = __nv_fp8_e4m3(__bfloat162float(residual_out[begin + i]) * scale * __bfloat162float(weight[i]) *
                                 (448.0f / highest));
}

cudaError_t rmsnorm_quant(const __nv_bfloat16* x, const __nv_bfloat16* residual, const __nv_bfloat16* weight,
                          __nv_fp8_e4m3* q, float* row_scale, __nv_bfloat16* residual_out, int rows, int hidden,
                          float eps, cudaStream_t stream) {
  norm_rows<<<rows, 256, 0, stream>>>(x, residual, weight, q, row_scale, residual_out, hidden, eps);
  return cudaGetLastError();
}
