// In float64, a block a query head: all scores in shared memory, then maximum, sum and the weighted values.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_q_heads = 32, k_k_heads = 8, k_wide = 128, k_page = 16, k_most = 256;

__device__ long long begin_of(const int* table, int token, int head) {
  return ((static_cast<long long>(table[token / k_page]) * k_page + token % k_page) * k_k_heads + head) * k_wide;
}

__global__ void paged_in_double(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                                const int* block_table, const int* lengths, double* out) {
  extern __shared__ double scores[]; // k_most * k_page
  __shared__ double query[k_wide];
  const int sequence = blockIdx.x / k_q_heads, head = blockIdx.x % k_q_heads, kv_head = head / (k_q_heads / k_k_heads);
  const int* table = block_table + sequence * k_most;
  const int length = lengths[sequence];
  if (threadIdx.x < k_wide)
    query[threadIdx.x] = static_cast<double>(__bfloat162float(q[static_cast<long long>(blockIdx.x) * k_wide + threadIdx.x]));
  __syncthreads();
  for (int token = threadIdx.x; token < length; token += blockDim.x) {
    const long long at = begin_of(table, token, kv_head);
    double sum = 0;
    for (int d = 0; d < k_wide; ++d) sum += query[d] * static_cast<double>(__bfloat162float(k_cache[at + d]));
    scores[token] = sum / sqrt(static_cast<double>(k_wide));
  }
  __syncthreads();
  double highest = -INFINITY, total = 0, sum = 0;
  for (int token = 0; token < length; ++token) highest = fmax(highest, scores[token]);
  for (int token = 0; token < length; ++token) {
    const double weight = exp(scores[token] - highest);
    total += weight;
    if (threadIdx.x < k_wide)
      sum += weight * static_cast<double>(__bfloat162float(v_cache[begin_of(table, token, kv_head) + threadIdx.x]));
  }
  if (threadIdx.x < k_wide) out[static_cast<long long>(blockIdx.x) * k_wide + threadIdx.x] = sum / total;
}

void paged_attention_reference(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                               const int* block_table, const int* lengths, float*, double* out, int batch,
                               cudaStream_t stream) {
  paged_in_double<<<batch * k_q_heads, 128, k_most * k_page * sizeof(double), stream>>>(q, k_cache, v_cache, block_table,
                                                                                       lengths, out);
}
