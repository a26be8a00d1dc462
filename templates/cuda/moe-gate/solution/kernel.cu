// A warp a token, eight neighbouring logits a lane. A round is a maximum over the lane's eight, one redux over the warp and a
// ballot: lanes hold rising ids, so the lowest lane that has the maximum has the lowest id.
#include <cuda_runtime.h>

#include <cstdint>

#ifndef WARPS
#define WARPS 4 // tokens of a block
#endif
constexpr int k_experts = 256, k_chosen = 8;
constexpr int k_each = k_experts / 32;

/// Floats in the order of unsigned integers; zero is below all of them.
__device__ uint32_t ordered(float value) {
  const uint32_t bits = __float_as_uint(value == 0.0f ? 0.0f : value); // -0 is 0
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ float unordered(uint32_t key) {
  return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

__global__ void __launch_bounds__(WARPS * 32)
    gate_kernel(const float4* __restrict__ logits, float* __restrict__ weights, int* __restrict__ ids, int tokens) {
  const int token = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (token >= tokens) return;
  const float4* row = logits + static_cast<size_t>(token) * (k_experts / 4) + lane * 2;
  const float4 a = __ldcs(row), b = __ldcs(row + 1);
  uint32_t key[k_each] = {ordered(a.x), ordered(a.y), ordered(a.z), ordered(a.w),
                          ordered(b.x), ordered(b.y), ordered(b.z), ordered(b.w)};
  float mine = 0, highest = 0;
  int my_id = 0;
#pragma unroll
  for (int k = 0; k < k_chosen; ++k) {
    uint32_t best = 0;
#pragma unroll
    for (int i = 0; i < k_each; ++i) best = max(best, key[i]);
    const uint32_t top = __reduce_max_sync(0xffffffffu, best);
    const int owner = __ffs(static_cast<int>(__ballot_sync(0xffffffffu, best == top))) - 1;
    int place = 0;
#pragma unroll
    for (int i = k_each - 1; i >= 0; --i)
      if (key[i] == top) place = i; // the lowest
    if (lane == owner) {
#pragma unroll
      for (int i = 0; i < k_each; ++i)
        if (i == place) key[i] = 0;
    }
    const int id = __shfl_sync(0xffffffffu, lane * k_each + place, owner);
    if (k == 0) highest = unordered(top);
    if (lane == k) mine = unordered(top), my_id = id;
  }
  float share = lane < k_chosen ? __expf(mine - highest) : 0.0f;
  float sum = share;
#pragma unroll
  for (int step = k_chosen / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane < k_chosen) {
    weights[static_cast<size_t>(token) * k_chosen + lane] = share / sum;
    ids[static_cast<size_t>(token) * k_chosen + lane] = my_id;
  }
}

cudaError_t moe_gate(const float* logits, float* weights, int* ids, int tokens, cudaStream_t stream) {
  gate_kernel<<<(tokens + WARPS - 1) / WARPS, WARPS * 32, 0, stream>>>(reinterpret_cast<const float4*>(logits), weights,
                                                                      ids, tokens);
  return cudaGetLastError();
}
