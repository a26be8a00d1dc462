// As it is written first: a warp a query, a key at a time, running maximum and sum.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_q_heads = 16, k_k_heads = 4, k_wide = 128;

__global__ void attention_kernel(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                                 __nv_bfloat16* out, int length) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= length) return;
  const int batch = blockIdx.y / k_q_heads, head = blockIdx.y % k_q_heads;
  const size_t at = (static_cast<size_t>(blockIdx.y) * length + row) * k_wide;
  const size_t begin = (static_cast<size_t>(batch) * k_k_heads + head / (k_q_heads / k_k_heads)) * length * k_wide;
  float query[4], sums[4] = {}, highest = -INFINITY, total = 0;
  for (int i = 0; i < 4; ++i) query[i] = __bfloat162float(q[at + i * 32 + lane]) * rsqrtf(128.0f);
  for (int key = 0; key <= row; ++key) {
    float score = 0;
    for (int i = 0; i < 4; ++i) score += query[i] * __bfloat162float(k[begin + key * 128ll + i * 32 + lane]);
    for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffffu, score, step);
    const float higher = fmaxf(highest, score), keep = expf(highest - higher), weight = expf(score - higher);
    total = total * keep + weight;
    for (int i = 0; i < 4; ++i)
      sums[i] = sums[i] * keep + weight * __bfloat162float(v[begin + key * 128ll + i * 32 + lane]);
    highest = higher;
  }
  for (int i = 0; i < 4; ++i) out[at + i * 32 + lane] = __float2bfloat16(sums[i] / total);
}

cudaError_t attention(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, __nv_bfloat16* out,
                      int batch, int length, cudaStream_t stream) {
  attention_kernel<<<dim3((length + 3) / 4, batch * k_q_heads), 128, 0, stream>>>(q, k, v, out, length);
  return cudaGetLastError();
}
