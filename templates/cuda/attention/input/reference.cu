// In float64: sixteen queries a block, keys in tiles of sixteen; one sweep for maximum and sum, one for the result.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int k_side = 16, k_wide = 128, k_q_heads = 16, k_k_heads = 4;

/// The block's 16 x 16 scores for keys from `key0` on; `k` points at the head's keys.
__device__ double score(const double (*queries)[k_wide], double (*keys)[k_wide], const __nv_bfloat16* k, int row,
                        int key0, int length) {
  __syncthreads();
  for (int i = threadIdx.y * k_side + threadIdx.x; i < k_side * k_wide; i += k_side * k_side) {
    const int key = key0 + i / k_wide;
    keys[i / k_wide][i % k_wide] =
        key < length ? static_cast<double>(__bfloat162float(k[static_cast<long long>(key) * k_wide + i % k_wide])) : 0.0;
  }
  __syncthreads();
  const int key = key0 + threadIdx.x;
  if (key > row || key >= length) return -INFINITY;
  double sum = 0;
  for (int d = 0; d < k_wide; ++d) sum += queries[threadIdx.y][d] * keys[threadIdx.x][d];
  return sum / sqrt(static_cast<double>(k_wide));
}

__global__ void attention_in_double(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, double* out,
                                    int length) {
  __shared__ double queries[k_side][k_wide], keys[k_side][k_wide], weights[k_side][k_side];
  const int batch = blockIdx.y / k_q_heads, head = blockIdx.y % k_q_heads;
  const long long q_begin = static_cast<long long>(blockIdx.y) * length * k_wide;
  const long long k_begin =
      (static_cast<long long>(batch) * k_k_heads + head / (k_q_heads / k_k_heads)) * length * k_wide;
  const int row0 = blockIdx.x * k_side, row = row0 + threadIdx.y;
  for (int i = threadIdx.y * k_side + threadIdx.x; i < k_side * k_wide; i += k_side * k_side) {
    const int at = row0 + i / k_wide;
    queries[i / k_wide][i % k_wide] =
        at < length ? static_cast<double>(__bfloat162float(q[q_begin + static_cast<long long>(at) * k_wide + i % k_wide]))
                    : 0.0;
  }
  double highest = -INFINITY, total = 0;
  for (int key0 = 0; key0 <= row0 + k_side - 1 && key0 < length; key0 += k_side) {
    weights[threadIdx.y][threadIdx.x] = score(queries, keys, k + k_begin, row, key0, length);
    __syncthreads();
    for (int j = 0; j < k_side; ++j) {
      const double s = weights[threadIdx.y][j];
      if (s == -INFINITY) continue;
      const double higher = fmax(highest, s);
      total = total * exp(highest - higher) + exp(s - higher);
      highest = higher;
    }
  }
  double sums[k_wide / k_side] = {};
  for (int key0 = 0; key0 <= row0 + k_side - 1 && key0 < length; key0 += k_side) {
    const double s = score(queries, keys, k + k_begin, row, key0, length);
    __syncthreads();
    weights[threadIdx.y][threadIdx.x] = s == -INFINITY ? 0.0 : exp(s - highest) / total;
    __syncthreads();
    for (int j = 0; j < k_side && key0 + j < length; ++j)
      for (int c = 0; c < k_wide / k_side; ++c)
        sums[c] += weights[threadIdx.y][j] *
                   static_cast<double>(__bfloat162float(
                       v[k_begin + static_cast<long long>(key0 + j) * k_wide + c * k_side + threadIdx.x]));
  }
  if (row >= length) return;
  for (int c = 0; c < k_wide / k_side; ++c)
    out[q_begin + static_cast<long long>(row) * k_wide + c * k_side + threadIdx.x] = sums[c];
}

void attention_reference(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, double* out, int batch,
                         int length, cudaStream_t stream) {
  const dim3 grid((length + k_side - 1) / k_side, batch * k_q_heads);
  attention_in_double<<<grid, dim3(k_side, k_side), 0, stream>>>(q, k, v, out, length);
}
