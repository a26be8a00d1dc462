// Too little in flight: registers, shared memory, block size, grid, waves, imbalance, dependent
// loads, barriers.
#include "plant.hpp"

namespace planted {
namespace {

template <int N> struct Held {
  float r[N];
  __device__ void load(const float* p) {
#pragma unroll
    for (int i = 0; i < N; ++i) r[i] = p[i * 32];
  }
  /// Never true for the data at hand, but the compiler cannot know: the values stay in registers.
  __device__ void maybe_change(float v) {
    if (v < -1e30f) {
#pragma unroll
      for (int i = 0; i < N; ++i) r[i] = fmaf(r[i], v, float(i));
    }
  }
  __device__ float sum() const {
    float s = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) s += r[i];
    return s;
  }
};

/// A stream read by threads that carry N values each: registers decide how many can be resident.
template <int N>
__global__ void __launch_bounds__(256)
    carry_and_stream(const float* __restrict__ in, float* __restrict__ out, int n, int iters) {
  Held<N> held;
  held.load(in + threadIdx.x % 32);
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float s = 0;
#pragma unroll 1
  for (int i = 0, at = t; i < iters; ++i, at += stride) {
    s += in[at & (n - 1)];
    held.maybe_change(s);
  }
  out[t] = s + held.sum();
}
PLANT(registers_200_stream, occupancy_registers, false) {
  carry_and_stream<200><<<pool.sms * 8, 256>>>(pool.a, pool.b, 1 << 27, 120);
}
PLANT(registers_110_stream, occupancy_registers, false) {
  carry_and_stream<110><<<pool.sms * 16, 256>>>(pool.a, pool.b, 1 << 27, 100);
}

/// One output row a block of one warp group, 180 accumulators a thread, a row gathered at a time.
__global__ void __launch_bounds__(128)
    gather_accumulate(const float4* __restrict__ table, const std::uint32_t* __restrict__ ids,
                      float* __restrict__ out, int iters) {
  Held<176> held;
  held.load((const float*)table + threadIdx.x % 32);
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < iters; ++i) {
    std::uint32_t row =
        ids[(warp * iters + i) & 0xffffff] & 0xfffff; // rows of 512 bytes in 512 MiB
    float4 v = table[std::size_t(row) * 32 + lane];
    s += v.x * v.y + v.z * v.w;
    held.maybe_change(s);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s + held.sum();
}
PLANT(registers_row_gather, occupancy_registers, false) {
  gather_accumulate<<<pool.sms * 16, 128>>>((const float4*)pool.a, pool.u, pool.b, 200);
}

__global__ void shared_hungry(const float* __restrict__ in, float* __restrict__ out, int n,
                              int iters) {
  extern __shared__ float tile[];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float s = 0;
#pragma unroll 1
  for (int i = 0, at = t; i < iters; ++i, at += stride) {
    s += in[at & (n - 1)];
    if (i % 32 == 0) tile[threadIdx.x] = s;
  }
  out[t] = s + tile[threadIdx.x];
}
PLANT(shared_200k_per_block, occupancy_shared_memory, false) {
  cudaFuncSetAttribute(shared_hungry, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
  shared_hungry<<<pool.sms * 8, 256, 200 << 10>>>(pool.a, pool.b, 1 << 27, 120);
}
PLANT(shared_72k_small_blocks, occupancy_shared_memory, false) {
  cudaFuncSetAttribute(shared_hungry, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
  shared_hungry<<<pool.sms * 24, 128, 72 << 10>>>(pool.a, pool.b, 1 << 27, 120);
}
/// A private 48 KiB table a block, filled once, probed by data.
__global__ void table_lookup(const std::uint32_t* __restrict__ in, float* __restrict__ out,
                             int iters, int entries) {
  extern __shared__ float table[];
  for (int i = threadIdx.x; i < entries; i += blockDim.x) table[i] = float(i);
  __syncthreads();
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float s = 0;
#pragma unroll 1
  for (int i = 0, at = t; i < iters; ++i, at += stride)
    s += table[(in[at & 0x7ffffff] >> 5) % 32 * 32 + threadIdx.x % 32];
  out[t] = s;
}
PLANT(shared_lookup_table, occupancy_shared_memory, false) {
  cudaFuncSetAttribute(table_lookup, cudaFuncAttributeMaxDynamicSharedMemorySize, 110 << 10);
  table_lookup<<<pool.sms * 16, 128, 110 << 10>>>(pool.u, pool.b, 240, 28160);
}

__global__ void small_blocks(const float* __restrict__ in, float* __restrict__ out, int n,
                             int iters) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float s = 0;
#pragma unroll 1
  for (int i = 0, at = t; i < iters; ++i, at += stride) s += in[at & (n - 1)];
  out[t] = s;
}
PLANT(blocks_of_32, occupancy_block_size, false) {
  small_blocks<<<pool.sms * 128, 32>>>(pool.a, pool.b, 1 << 27, 120);
}

__global__ void row_max_warp(const float* __restrict__ in, float* __restrict__ out, int cols) {
  const float* row = in + std::size_t(blockIdx.x) * cols;
  float m = -1;
#pragma unroll 1
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, row[i]);
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if (threadIdx.x == 0) out[blockIdx.x] = m;
}
PLANT(one_warp_per_row, occupancy_block_size, false) {
  row_max_warp<<<65536, 32>>>(pool.a, pool.b, 2048);
}

__global__ void quarter_warp(const float* __restrict__ in, float* __restrict__ out, int iters) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[t], y = x;
  for (int i = 0; i < iters; ++i) y = fmaf(y, x, 0.5f), y = fmaf(y, x, 0.25f);
  out[t] = y;
}
PLANT(blocks_of_8, occupancy_block_size, false) {
  quarter_warp<<<pool.sms * 512, 8>>>(pool.a, pool.b, 600);
}

__global__ void few_blocks_sum(const float4* __restrict__ in, float* out, int per_thread) {
  int stride = gridDim.x * blockDim.x;
  float s = 0;
#pragma unroll 8
  for (int i = 0, at = blockIdx.x * blockDim.x + threadIdx.x; i < per_thread; ++i, at += stride) {
    float4 v = in[at];
    s += v.x + v.y + v.z + v.w;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
PLANT(grid_of_8_stream, small_grid, false) {
  few_blocks_sum<<<8, 512>>>((const float4*)pool.a, pool.b, 512);
}
PLANT(grid_of_40_stream, small_grid, false) {
  few_blocks_sum<<<40, 1024>>>((const float4*)pool.a, pool.b, 256);
}

__global__ void few_blocks_math(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[t], a[4] = {x, x + 1, x + 2, x + 3};
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 4; ++k) a[k] = fmaf(a[k], x, 0.25f), a[k] = fmaf(a[k], 0.5f, x);
  out[t] = a[0] + a[1] + a[2] + a[3];
}
PLANT(grid_of_20_math, small_grid, false) { few_blocks_math<<<20, 1024>>>(pool.a, pool.b, 3000); }

PLANT(tail_512_threads, tail_wave, false) {
  few_blocks_math<<<pool.sms * 4 + 1, 512>>>(pool.a, pool.b, 4000);
}
PLANT(tail_1024_threads, tail_wave, false) {
  few_blocks_math<<<pool.sms * 4 + 20, 1024>>>(pool.a, pool.b, 2500);
}

__global__ void tail_hash(const std::uint32_t* __restrict__ in, std::uint32_t* __restrict__ out,
                          int rounds) {
  extern __shared__ std::uint32_t pad[];
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t x = in[t], y = ~x;
  for (int r = 0; r < rounds; ++r) x = mix(x + r), y = mix(y ^ r);
  pad[threadIdx.x] = x;
  out[t] = pad[threadIdx.x] + y;
}
PLANT(tail_int_blocks, tail_wave, false) {
  cudaFuncSetAttribute(tail_hash, cudaFuncAttributeMaxDynamicSharedMemorySize, 54 << 10);
  tail_hash<<<pool.sms * 4 + 9, 256, 54 << 10>>>(pool.u, (std::uint32_t*)pool.b, 1500);
}

__global__ void triangular(const float* __restrict__ in, float* __restrict__ out, int most) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[t], y = x, z = x + 1;
  int rounds = int(std::int64_t(most) * blockIdx.x / gridDim.x);
  for (int i = 0; i < rounds; ++i) y = fmaf(y, x, 0.5f), z = fmaf(z, x, 0.25f);
  out[t] = y + z;
}
PLANT(triangular_work, block_imbalance, false) {
  triangular<<<pool.sms * 4, 512>>>(pool.a, pool.b, 20000);
}

__global__ void skewed_rows(const float4* __restrict__ in, float* __restrict__ out, int base) {
  int work = blockIdx.x % 97 == 0 ? base * 60 : base;
  float s = 0;
#pragma unroll 4
  for (int i = 0; i < work; ++i) {
    float4 v = in[(blockIdx.x * 4099 + i * 256 + threadIdx.x) & 0x1ffffff];
    s += v.x + v.y + v.z + v.w;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
PLANT(skewed_row_lengths, block_imbalance, false) {
  skewed_rows<<<pool.sms * 8, 256>>>((const float4*)pool.a, pool.b, 60);
}

__global__ void one_long_block(const float* __restrict__ in, float* __restrict__ out, int base) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[t], y = x, z = x + 1;
  int rounds = blockIdx.x == 7 ? base * 12 : base;
  for (int i = 0; i < rounds; ++i) y = fmaf(y, x, 0.5f), z = fmaf(z, x, 0.25f);
  out[t] = y + z;
}
PLANT(one_straggling_block, block_imbalance, false) {
  one_long_block<<<pool.sms * 8, 256>>>(pool.a, pool.b, 3000);
}

/// Each warp walks a list of whole 128-byte lines: coalesced, full occupancy, one load in flight a
/// warp.
__global__ void line_chase(const std::uint32_t* __restrict__ in, std::uint32_t* __restrict__ out,
                           int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  std::uint32_t at = mix(std::uint32_t(t / 32));
#pragma unroll 1
  for (int i = 0; i < steps; ++i)
    at = __shfl_sync(~0u, in[(std::size_t(at & 0x3fffff) << 5) + lane], 0) + std::uint32_t(i);
  out[t] = at;
}
PLANT(dependent_lines, memory_latency, false) {
  line_chase<<<pool.sms * 8, 256>>>(pool.u, (std::uint32_t*)pool.b, 200);
}
PLANT(dependent_lines_few_warps, memory_latency, false) {
  line_chase<<<pool.sms * 2, 256>>>(pool.u, (std::uint32_t*)pool.b, 300);
}

/// One 4-byte load in flight a thread, used at once.
__global__ void running_sum(const float* __restrict__ in, float* __restrict__ out, int iters) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float s = 0;
#pragma unroll 1
  for (int i = 0, at = t; i < iters; ++i, at += stride) s = s * 0.5f + in[at & 0x7ffffff];
  out[t] = s;
}
PLANT(one_load_in_flight, memory_latency, false) {
  running_sum<<<pool.sms * 8, 256>>>(pool.a, pool.b, 240);
}

/// Level by level through a tree kept in memory, the warp together.
__global__ void tree_walk(const std::uint32_t* __restrict__ in, std::uint32_t* __restrict__ out,
                          int levels, int queries) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  std::uint32_t acc = 0;
#pragma unroll 1
  for (int q = 0; q < queries; ++q) {
    std::uint32_t node = 1;
#pragma unroll 1
    for (int l = 0; l < levels; ++l) {
      std::uint32_t line = mix(node + 7919u * q + std::uint32_t(t / 32) * 31u) & 0x3fffff;
      std::uint32_t key = in[(std::size_t(line) << 5) + lane];
      node = 2 * node + (__ballot_sync(~0u, key & 1) & 1);
    }
    acc ^= node;
  }
  out[t] = acc;
}
PLANT(tree_descent, memory_latency, false) {
  tree_walk<<<pool.sms * 4, 512>>>(pool.u, (std::uint32_t*)pool.b, 16, 12);
}

__global__ void one_warp_works(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  __shared__ float value;
  float x = in[threadIdx.x], s = 0;
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x < 32) {
      float y = x + r;
      for (int i = 0; i < 100; ++i) y = fmaf(y, x, 0.5f);
      if (threadIdx.x == 0) value = y;
    }
    __syncthreads();
    s += value;
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
PLANT(serial_section, barrier_stalls, false) {
  one_warp_works<<<pool.sms * 2, 1024>>>(pool.a, pool.b, 300);
}

__global__ void tree_reductions(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  __shared__ float part[1024];
  float s = 0;
  for (int r = 0; r < rounds; ++r) {
    part[threadIdx.x] = in[threadIdx.x + r * 1024];
    __syncthreads();
    for (int o = 512; o; o >>= 1) {
      if (threadIdx.x < o) part[threadIdx.x] += part[threadIdx.x + o];
      __syncthreads();
    }
    s += part[0];
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
PLANT(tree_reductions_in_block, barrier_stalls, false) {
  tree_reductions<<<pool.sms * 2, 1024>>>(pool.a, pool.b, 200);
}

__global__ void uneven_warps(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int warp = threadIdx.x / 32;
  float x = in[threadIdx.x], y = x;
  for (int r = 0; r < rounds; ++r) {
    int work = (warp * 7 + r) % 16 == 0 ? 160 : 8;
    for (int i = 0; i < work; ++i) y = fmaf(y, x, 0.5f);
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = y;
}
PLANT(uneven_warps_at_barrier, barrier_stalls, false) {
  uneven_warps<<<pool.sms * 4, 512>>>(pool.a, pool.b, 300);
}

} // namespace
} // namespace planted
