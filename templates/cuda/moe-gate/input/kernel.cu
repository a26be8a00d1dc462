// As it is written first: a block a token, eight rounds of a tree in shared memory.
#include <cuda_runtime.h>

__global__ void gate_kernel(const float* logits, float* weights, int* ids) {
  __shared__ float value[256], best[256];
  __shared__ int index[256];
  __shared__ float chosen[8];
  const int tid = threadIdx.x;
  value[tid] = logits[blockIdx.x * 256ll + tid];
  for (int k = 0; k < 8; ++k) {
    best[tid] = value[tid];
    index[tid] = tid;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
      if (tid < half) {
        const bool other = best[tid + half] > best[tid] || (best[tid + half] == best[tid] && index[tid + half] < index[tid]);
        if (other) best[tid] = best[tid + half], index[tid] = index[tid + half];
      }
      __syncthreads();
    }
    if (tid == 0) {
      chosen[k] = best[0];
      ids[blockIdx.x * 8ll + k] = index[0];
      value[index[0]] = -INFINITY;
    }
    __syncthreads();
  }
  if (tid < 8) {
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += expf(chosen[k] - chosen[0]);
    weights[blockIdx.x * 8ll + tid] = expf(chosen[tid] - chosen[0]) / sum;
  }
}

cudaError_t moe_gate(const float* logits, float* weights, int* ids, int tokens, cudaStream_t stream) {
  gate_kernel<<<tokens, 256, 0, stream>>>(logits, weights, ids);
  return cudaGetLastError();
}
