// One launch for queries and keys. A thread rotates eight pairs of one head: sixteen bytes of each half. Eight threads are a
// head, 320 a token; the angles of a token come through the first-level cache.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#ifndef TOKENS
#define TOKENS 1 // of a block, one after the other with all loads first
#endif
constexpr int k_q_heads = 32, k_k_heads = 8;
constexpr int k_threads = (k_q_heads + k_k_heads) * 8;

struct alignas(16) Eight {
  __nv_bfloat162 pair[4];
};

/// Past the first-level cache: nothing here is read twice.
__device__ Eight load_once(const Eight* from) {
  uint4 bits;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from));
  return *reinterpret_cast<Eight*>(&bits);
}

__device__ void store_once(Eight* to, const Eight& value) {
  __stcs(reinterpret_cast<uint4*>(to), *reinterpret_cast<const uint4*>(&value));
}

__global__ void __launch_bounds__(k_threads)
    rotate_both(const Eight* __restrict__ q, const Eight* __restrict__ k, const float4* __restrict__ table,
                const int* __restrict__ positions, Eight* __restrict__ q_out, Eight* __restrict__ k_out, int tokens) {
  const int part = threadIdx.x % 8, head = threadIdx.x / 8;
  const bool is_q = head < k_q_heads;
  Eight low[TOKENS], high[TOKENS];
  size_t begin[TOKENS];
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) {
    const int token = blockIdx.x * TOKENS + t;
    begin[t] = is_q ? (static_cast<size_t>(token) * k_q_heads + head) * 16 + part
                    : (static_cast<size_t>(token) * k_k_heads + head - k_q_heads) * 16 + part;
    if (token >= tokens) continue;
    const Eight* from = (is_q ? q : k) + begin[t];
    low[t] = load_once(from);
    high[t] = load_once(from + 8);
  }
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) {
    const int token = blockIdx.x * TOKENS + t;
    if (token >= tokens) continue;
    const float4* angles = table + static_cast<size_t>(positions[token]) * 32 + part * 2;
    float c[8], s[8];
    *reinterpret_cast<float4*>(c) = __ldg(angles);
    *reinterpret_cast<float4*>(c + 4) = __ldg(angles + 1);
    *reinterpret_cast<float4*>(s) = __ldg(angles + 16);
    *reinterpret_cast<float4*>(s + 4) = __ldg(angles + 17);
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 a = __bfloat1622float2(low[t].pair[p]), b = __bfloat1622float2(high[t].pair[p]);
      const float2 cos2 = make_float2(c[2 * p], c[2 * p + 1]), sin2 = make_float2(s[2 * p], s[2 * p + 1]);
      low[t].pair[p] = __floats2bfloat162_rn(a.x * cos2.x - b.x * sin2.x, a.y * cos2.y - b.y * sin2.y);
      high[t].pair[p] = __floats2bfloat162_rn(b.x * cos2.x + a.x * sin2.x, b.y * cos2.y + a.y * sin2.y);
    }
    Eight* to = (is_q ? q_out : k_out) + begin[t];
    store_once(to, low[t]);
    store_once(to + 8, high[t]);
  }
}

cudaError_t rotary(const __nv_bfloat16* q, const __nv_bfloat16* k, const float* table, const int* positions,
                   __nv_bfloat16* q_out, __nv_bfloat16* k_out, int tokens, cudaStream_t stream) {
  rotate_both<<<(tokens + TOKENS - 1) / TOKENS, k_threads, 0, stream>>>(
      reinterpret_cast<const Eight*>(q), reinterpret_cast<const Eight*>(k), reinterpret_cast<const float4*>(table),
      positions, reinterpret_cast<Eight*>(q_out), reinterpret_cast<Eight*>(k_out), tokens);
  return cudaGetLastError();
}
