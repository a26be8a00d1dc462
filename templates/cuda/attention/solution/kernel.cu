// Queries stay in registers, keys and values come in tiles of 64 by cp.async, two stages; both products on the tensor cores by
// mma.sync, scores never leave registers. Sixteen rows a warp; a thread holds two rows of them.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#ifndef WARPS
#define WARPS 8
#endif
constexpr int k_wide = 128;       ///< of a head
constexpr int k_rows = WARPS * 16, k_keys = 64;
constexpr int k_q_heads = 16, k_k_heads = 4;
constexpr int k_threads = WARPS * 32;
constexpr int k_row_bytes = k_wide * 2, k_tile_bytes = k_keys * k_row_bytes;
constexpr int k_query_bytes = k_rows * k_row_bytes;
constexpr int k_shared_bytes = k_query_bytes + 4 * k_tile_bytes; ///< queries; two stages of keys and values

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Sixteen bytes of a row of 256; chunks are exchanged by the row, so that eight rows' equal chunks lie in different banks.
__device__ uint32_t place(uint32_t tile, int row, int chunk) {
  return tile + row * k_row_bytes + ((chunk ^ (row & 7)) << 4);
}

/// `count` rows from `first` on into a tile; rows past `length` become zero.
template <int Count>
__device__ void fetch(uint32_t tile, const __nv_bfloat16* from, int first, int length) {
#pragma unroll
  for (int i = 0; i < Count * 16 / k_threads; ++i) {
    const int at = i * k_threads + threadIdx.x, row = at / 16, chunk = at % 16;
    const bool inside = first + row < length;
    const __nv_bfloat16* source = from + static_cast<size_t>(inside ? first + row : 0) * k_wide + chunk * 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place(tile, row, chunk)), "l"(source),
                 "r"(inside ? 16 : 0)
                 : "memory");
  }
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> __device__ void await() { asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory"); }

__device__ void load4(uint32_t (&to)[4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}
__device__ void load4_turned(uint32_t (&to)[4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}
__device__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ uint32_t pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

/// Scores of the warp's sixteen rows against 64 keys, in base 2 already.
__device__ void scores_of(float (&s)[k_keys / 8][4], const uint32_t (&query)[k_wide / 16][4], uint32_t keys) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
#pragma unroll
  for (int n = 0; n < k_keys / 16; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) s[2 * n][i] = s[2 * n + 1][i] = 0;
#pragma unroll
    for (int k = 0; k < k_wide / 16; ++k) {
      uint32_t b[4];
      load4(b, place(keys, n * 16 + matrix / 2 * 8 + lane % 8, k * 2 + matrix % 2));
      multiply(s[2 * n], query[k], b[0], b[1]);
      multiply(s[2 * n + 1], query[k], b[2], b[3]);
    }
  }
}

/// sums += weights * values; the scores' registers, packed, are the left operand.
__device__ void add_values(float (&sums)[k_wide / 8][4], const float (&s)[k_keys / 8][4], uint32_t values) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
#pragma unroll
  for (int k = 0; k < k_keys / 16; ++k) {
    const uint32_t a[4] = {pack(s[2 * k][0], s[2 * k][1]), pack(s[2 * k][2], s[2 * k][3]),
                           pack(s[2 * k + 1][0], s[2 * k + 1][1]), pack(s[2 * k + 1][2], s[2 * k + 1][3])};
#pragma unroll
    for (int n = 0; n < k_wide / 16; ++n) {
      uint32_t b[4];
      load4_turned(b, place(values, k * 16 + matrix % 2 * 8 + lane % 8, n * 2 + matrix / 2));
      multiply(sums[2 * n], a, b[0], b[1]);
      multiply(sums[2 * n + 1], a, b[2], b[3]);
    }
  }
}

__device__ float over_row(float value) { // the four lanes that share a row
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

/// Masks, finds the new maxima, turns scores into weights and scales what was summed before.
__device__ void soften(float (&s)[k_keys / 8][4], float (&sums)[k_wide / 8][4], float (&highest)[2], float (&total)[2],
                       int row, int key0, bool masked) {
  constexpr float k_scale = 1.4426950408889634f * 0.08838834764831845f; // log2(e) / sqrt(128)
  const int column = key0 + threadIdx.x % 4 * 2;
  float high[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int n = 0; n < k_keys / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (masked && column + n * 8 + i % 2 > row + i / 2 * 8) s[n][i] = -INFINITY;
      high[i / 2] = fmaxf(high[i / 2], s[n][i]);
    }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float higher = fmaxf(highest[half], over_row(high[half]) * k_scale); // key 0 is never masked: finite
    const float keep = exp2f(highest[half] - higher);
    highest[half] = higher;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < k_keys / 8; ++n)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        float& one = s[n][half * 2 + j];
        one = exp2f(fmaf(one, k_scale, -higher));
        sum += one;
      }
    total[half] = total[half] * keep + sum;
#pragma unroll
    for (int n = 0; n < k_wide / 8; ++n) {
      sums[n][half * 2] *= keep;
      sums[n][half * 2 + 1] *= keep;
    }
  }
}

__global__ void __launch_bounds__(k_threads)
    attention_kernel(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k,
                     const __nv_bfloat16* __restrict__ v, __nv_bfloat16* __restrict__ out, int length) {
  extern __shared__ __align__(128) uint8_t raw[];
  const uint32_t queries = shared_address(raw), tiles = queries + k_query_bytes;
  const int row0 = (gridDim.x - 1 - blockIdx.x) * k_rows; // the longest first
  const int batch = blockIdx.y / k_q_heads, head = blockIdx.y % k_q_heads;
  const size_t q_begin = static_cast<size_t>(blockIdx.y) * length * k_wide;
  const size_t k_begin =
      (static_cast<size_t>(batch) * k_k_heads + head / (k_q_heads / k_k_heads)) * length * k_wide;
  const int steps = (min(row0 + k_rows, length) + k_keys - 1) / k_keys;
  fetch<k_rows>(queries, q + q_begin, row0, length);
  fetch<k_keys>(tiles, k + k_begin, 0, length);
  commit();
  fetch<k_keys>(tiles + k_tile_bytes, v + k_begin, 0, length);
  commit();

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = row0 + warp * 16 + lane / 4;
  uint32_t query[k_wide / 16][4];
  float sums[k_wide / 8][4] = {}, highest[2] = {-INFINITY, -INFINITY}, total[2] = {};
  for (int step = 0; step < steps; ++step) {
    const uint32_t keys = tiles + step % 2 * 2 * k_tile_bytes, values = keys + k_tile_bytes;
    const uint32_t next = tiles + (step + 1) % 2 * 2 * k_tile_bytes;
    const bool more = step + 1 < steps;
    if (more) fetch<k_keys>(next, k + k_begin, (step + 1) * k_keys, length);
    commit();
    await<2>(); // these keys are there; these values and the next keys may be on their way
    __syncthreads();
    if (step == 0)
#pragma unroll
      for (int i = 0; i < k_wide / 16; ++i) load4(query[i], place(queries, warp * 16 + lane % 16, i * 2 + lane / 16));
    float s[k_keys / 8][4];
    scores_of(s, query, keys);
    soften(s, sums, highest, total, row, step * k_keys, (step + 1) * k_keys > row0 + warp * 16);
    if (more) fetch<k_keys>(next + k_tile_bytes, v + k_begin, (step + 1) * k_keys, length);
    commit();
    await<2>(); // these values are there
    __syncthreads();
    add_values(sums, s, values);
    __syncthreads(); // before the next but one overwrites this stage
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    total[half] += __shfl_xor_sync(0xffffffffu, total[half], 1);
    total[half] += __shfl_xor_sync(0xffffffffu, total[half], 2);
    const float share = 1.0f / total[half];
    if (row + half * 8 >= length) continue;
    __nv_bfloat16* to = out + q_begin + static_cast<size_t>(row + half * 8) * k_wide + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < k_wide / 8; ++n)
      *reinterpret_cast<__nv_bfloat162*>(to + n * 8) =
          __floats2bfloat162_rn(sums[n][half * 2] * share, sums[n][half * 2 + 1] * share);
  }
}

cudaError_t attention(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, __nv_bfloat16* out,
                      int batch, int length, cudaStream_t stream) {
  static const cudaError_t s_allowed =
      cudaFuncSetAttribute(attention_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, k_shared_bytes);
  if (s_allowed != cudaSuccess) return s_allowed;
  attention_kernel<<<dim3((length + k_rows - 1) / k_rows, batch * k_q_heads), k_threads, k_shared_bytes, stream>>>(
      q, k, v, out, length);
  return cudaGetLastError();
}
