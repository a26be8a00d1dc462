// As it is found: queries and keys in two launches, a pair a thread, two bytes a load.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void rotate(const __nv_bfloat16* x, const float* table, const int* positions, __nv_bfloat16* out,
                       int heads) {
  const int token = blockIdx.x;
  const float* angles = table + static_cast<size_t>(positions[token]) * 128;
  for (int i = threadIdx.x; i < heads * 64; i += blockDim.x) {
    const size_t begin = (static_cast<size_t>(token) * heads + i / 64) * 128;
    const int at = i % 64;
    const float c = angles[at], s = angles[64 + at];
    const float low = __bfloat162float(x[begin + at]), high = __bfloat162float(x[begin + 64 + at]);
    out[begin + at] = __float2bfloat16(low * c - high * s);
    out[begin + 64 + at] = __float2bfloat16(high * c + low * s);
  }
}

cudaError_t rotary(const __nv_bfloat16* q, const __nv_bfloat16* k, const float* table, const int* positions,
                   __nv_bfloat16* q_out, __nv_bfloat16* k_out, int tokens, cudaStream_t stream) {
  rotate<<<tokens, 512, 0, stream>>>(q, table, positions, q_out, 32);
  rotate<<<tokens, 512, 0, stream>>>(k, table, positions, k_out, 8);
  return cudaGetLastError();
}
