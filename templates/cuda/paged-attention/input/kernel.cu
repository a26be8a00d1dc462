// As it is found: a block a query head, a warp a token; each head of a group reads the same keys and values again.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_q_heads = 32, k_k_heads = 8, k_wide = 128, k_page = 16, k_most = 256;

__device__ size_t begin_of(const int* table, int token, int head) {
  return ((static_cast<size_t>(table[token / k_page]) * k_page + token % k_page) * k_k_heads + head) * k_wide;
}

__global__ void paged_kernel(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                             const int* block_table, const int* lengths, __nv_bfloat16* out) {
  __shared__ float scores[k_most * k_page], query[k_wide], shared[128];
  const int sequence = blockIdx.x / k_q_heads, head = blockIdx.x % k_q_heads, kv_head = head / (k_q_heads / k_k_heads);
  const int* table = block_table + sequence * k_most;
  const int length = lengths[sequence], lane = threadIdx.x % 32;
  query[threadIdx.x] = __bfloat162float(q[static_cast<size_t>(blockIdx.x) * k_wide + threadIdx.x]) * rsqrtf(128.0f);
  __syncthreads();
  float highest = -INFINITY;
  for (int token = threadIdx.x / 32; token < length; token += 4) {
    const size_t at = begin_of(table, token, kv_head);
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += query[i * 32 + lane] * __bfloat162float(k_cache[at + i * 32 + lane]);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0) scores[token] = sum;
    highest = fmaxf(highest, sum);
  }
  shared[threadIdx.x] = highest;
  __syncthreads();
  for (int warp = 0; warp < 4; ++warp) highest = fmaxf(highest, shared[warp * 32]);
  float total = 0, sum = 0;
  for (int token = 0; token < length; ++token) {
    const float weight = expf(scores[token] - highest);
    total += weight;
    sum += weight * __bfloat162float(v_cache[begin_of(table, token, kv_head) + threadIdx.x]);
  }
  out[static_cast<size_t>(blockIdx.x) * k_wide + threadIdx.x] = __float2bfloat16(sum / total);
}

cudaError_t paged_attention(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                            const int* block_table, const int* lengths, float* partial, __nv_bfloat16* out, int batch,
                            cudaStream_t stream) {
  static_cast<void>(partial);
  paged_kernel<<<batch * k_q_heads, 128, 0, stream>>>(q, k_cache, v_cache, block_table, lengths, out);
  return cudaGetLastError();
}
