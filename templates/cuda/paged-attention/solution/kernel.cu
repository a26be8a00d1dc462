// A block a sequence, key head and part of the sequence: keys and values are read once for the four query heads that share them.
// Eight lanes are a token, 32 bytes of it each, so a warp takes four tokens a step and needs three shuffles a score; every
// group of eight keeps maximum, total and sums of its own, which meet once, in shared memory. Parts meet in a second kernel.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#ifndef WARPS
#define WARPS 4
#endif
#ifndef WAVES
#define WAVES 2 // blocks to aim at, in multiples of the multiprocessors times two
#endif
constexpr int k_q_heads = 32, k_k_heads = 8, k_wide = 128, k_page = 16, k_most = 256;
constexpr int k_group = k_q_heads / k_k_heads; ///< query heads that share keys
constexpr int k_parts = 16;                    ///< at most: what the workspace holds
constexpr int k_threads = WARPS * 32, k_lines = WARPS * 4; ///< lines: groups of eight lanes
constexpr int k_each = 16;                     ///< values of a lane
constexpr int k_record = k_wide + 2;           ///< sums, maximum, total

/// Chunks `lane` and `lane + 8` of the sixteen of a head: eight lanes read 128 bytes in a row, twice.
struct Sixteen {
  uint4 low, high;
};
__device__ Sixteen load(const __nv_bfloat16* from, int lane) {
  const auto* chunks = reinterpret_cast<const uint4*>(from);
  return {__ldcs(chunks + lane), __ldcs(chunks + lane + 8)};
}
__device__ void widen(const Sixteen& from, float (&to)[k_each]) {
  const uint32_t words[8] = {from.low.x,  from.low.y,  from.low.z,  from.low.w,
                             from.high.x, from.high.y, from.high.z, from.high.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    to[2 * i] = __uint_as_float(words[i] << 16);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}

/// What eight lanes have found so far for the four heads.
struct State {
  float highest[k_group], total[k_group], sums[k_group][k_each];
};

/// One token. All eight lanes call it, for the shuffles; a token that is not `there` has no weight.
__device__ void take(State& state, const float (&query)[k_group][k_each], const Sixteen& key, const Sixteen& value,
                     bool there) {
  float k[k_each], v[k_each], score[k_group];
  widen(key, k);
#pragma unroll
  for (int h = 0; h < k_group; ++h) {
    score[h] = 0;
#pragma unroll
    for (int i = 0; i < k_each; ++i) score[h] = fmaf(query[h][i], k[i], score[h]);
  }
#pragma unroll
  for (int step = 4; step > 0; step /= 2)
#pragma unroll
    for (int h = 0; h < k_group; ++h) score[h] += __shfl_xor_sync(0xffffffffu, score[h], step);
  widen(value, v);
#pragma unroll
  for (int h = 0; h < k_group; ++h) {
    if (there && score[h] > state.highest[h]) { // seldom, after the first tokens
      const float keep = exp2f(state.highest[h] - score[h]);
      state.highest[h] = score[h];
      state.total[h] *= keep;
#pragma unroll
      for (int i = 0; i < k_each; ++i) state.sums[h][i] *= keep;
    }
    const float weight = there ? exp2f(score[h] - state.highest[h]) : 0.0f;
    state.total[h] += weight;
#pragma unroll
    for (int i = 0; i < k_each; ++i) state.sums[h][i] = fmaf(weight, v[i], state.sums[h][i]);
  }
}

__global__ void __launch_bounds__(k_threads)
    paged_parts(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k_cache,
                const __nv_bfloat16* __restrict__ v_cache, const int* __restrict__ block_table,
                const int* __restrict__ lengths, float* __restrict__ partial, int parts) {
  __shared__ float met[k_lines][k_group][k_record];
  const int sequence = blockIdx.x / k_k_heads, head = blockIdx.x % k_k_heads, part = blockIdx.y;
  const int lane = threadIdx.x % 8, line = threadIdx.x / 8;
  const int length = lengths[sequence];
  const int pages = (length + k_page - 1) / k_page, pages_each = (pages + parts - 1) / parts;
  const int begin = part * pages_each * k_page, end = min(length, begin + pages_each * k_page);
  const int* table = block_table + static_cast<size_t>(sequence) * k_most;

  float query[k_group][k_each];
  State state;
#pragma unroll
  for (int h = 0; h < k_group; ++h) {
    widen(load(q + (static_cast<size_t>(sequence) * k_q_heads + head * k_group + h) * k_wide, lane), query[h]);
#pragma unroll
    for (int i = 0; i < k_each; ++i) {
      query[h][i] *= 1.4426950408889634f * 0.08838834764831845f; // log2(e) / sqrt(128)
      state.sums[h][i] = 0;
    }
    state.highest[h] = -INFINITY;
    state.total[h] = 0;
  }
  // All lanes of a warp go round equally often: shuffles need every lane. A token past the end has no weight.
  for (int base = begin; base < end; base += 2 * k_lines) {
    Sixteen key[2], value[2];
    bool there[2];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int token = base + u * k_lines + line, at = min(token, end - 1);
      there[u] = token < end;
      const size_t from =
          ((static_cast<size_t>(__ldg(table + at / k_page)) * k_page + at % k_page) * k_k_heads + head) * k_wide;
      key[u] = load(k_cache + from, lane);
      value[u] = load(v_cache + from, lane);
    }
#pragma unroll
    for (int u = 0; u < 2; ++u) take(state, query, key[u], value[u], there[u]);
  }
#pragma unroll
  for (int h = 0; h < k_group; ++h) {
#pragma unroll
    for (int i = 0; i < k_each; ++i) met[line][h][lane * 8 + i % 8 + i / 8 * 64] = state.sums[h][i];
    if (lane == 0) met[line][h][k_wide] = state.highest[h], met[line][h][k_wide + 1] = state.total[h];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < k_group * k_wide; i += k_threads) {
    const int h = i / k_wide, d = i % k_wide;
    float highest = -INFINITY, total = 0, sum = 0;
    for (int l = 0; l < k_lines; ++l) highest = fmaxf(highest, met[l][h][k_wide]);
    for (int l = 0; l < k_lines; ++l) {
      const float keep = met[l][h][k_wide] == -INFINITY ? 0.0f : exp2f(met[l][h][k_wide] - highest);
      total += met[l][h][k_wide + 1] * keep;
      sum += met[l][h][d] * keep;
    }
    float* to = partial + ((static_cast<size_t>(sequence) * k_q_heads + head * k_group + h) * k_parts + part) * k_record;
    to[d] = sum;
    if (d == 0) to[k_wide] = highest, to[k_wide + 1] = total;
  }
}

__global__ void __launch_bounds__(k_wide)
    join_parts(const float* __restrict__ partial, __nv_bfloat16* __restrict__ out, int parts) {
  const float* from = partial + static_cast<size_t>(blockIdx.x) * k_parts * k_record;
  float highest = -INFINITY, total = 0, sum = 0;
  for (int p = 0; p < parts; ++p) highest = fmaxf(highest, from[p * k_record + k_wide]);
  for (int p = 0; p < parts; ++p) {
    const float* record = from + p * k_record;
    const float keep = record[k_wide] == -INFINITY ? 0.0f : exp2f(record[k_wide] - highest);
    total += record[k_wide + 1] * keep;
    sum += record[threadIdx.x] * keep;
  }
  out[static_cast<size_t>(blockIdx.x) * k_wide + threadIdx.x] = __float2bfloat16(sum / total);
}

static int multiprocessors() {
  static const int s_count = [] {
    int device = 0, count = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count;
  }();
  return s_count;
}

cudaError_t paged_attention(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                            const int* block_table, const int* lengths, float* partial, __nv_bfloat16* out, int batch,
                            cudaStream_t stream) {
  int parts = (multiprocessors() * 2 * WAVES + batch * k_k_heads - 1) / (batch * k_k_heads);
  parts = parts < 1 ? 1 : parts > k_parts ? k_parts : parts;
  paged_parts<<<dim3(batch * k_k_heads, parts), k_threads, 0, stream>>>(q, k_cache, v_cache, block_table, lengths, partial,
                                                                       parts);
  join_parts<<<batch * k_q_heads, k_wide, 0, stream>>>(partial, out, parts);
  return cudaGetLastError();
}
