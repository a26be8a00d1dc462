// Spills, local arrays, divergence, atomics, instruction fetch.
#include "plant.hpp"

namespace planted {
namespace {

/// 72 accumulators under a bound of 32 registers a thread.
__global__ void __launch_bounds__(1024, 2)
    spilled_accumulators(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  float a[72];
  int t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 72; ++k) a[k] = in[t + k];
  for (int r = 0; r < rounds; ++r) {
    float x = in[t + r];
#pragma unroll
    for (int k = 0; k < 72; ++k) a[k] = fmaf(a[k], x, a[(k * 29 + 5) % 72]);
  }
  float s = 0;
#pragma unroll
  for (int k = 0; k < 72; ++k) s += a[k];
  out[t] = s;
}
PLANT(spills_1024_threads, register_spills, false) {
  spilled_accumulators<<<pool.sms * 4, 1024>>>(pool.a, pool.b, 40);
}

/// An 8 x 8 register tile of a product, held to 40 registers.
__global__ void __launch_bounds__(256, 6)
    spilled_gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                 int n) {
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float acc[8][8] = {};
#pragma unroll 2
  for (int k = 0; k < n; ++k) {
    float x[8], y[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      x[i] = __ldg(a + k * 4096 + blockIdx.y * 128 + ty * 8 + i),
      y[i] = __ldg(b + k * 4096 + blockIdx.x * 128 + tx * 8 + i);
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j)
      c[std::size_t(blockIdx.y * 128 + ty * 8 + i) * 4096 + blockIdx.x * 128 + tx * 8 + j] =
          acc[i][j];
}
PLANT(spills_register_tile, register_spills, false) {
  spilled_gemm<<<dim3(32, 32), 256>>>(pool.a, pool.a + (8 << 20), pool.b, 256);
}

__global__ void __launch_bounds__(512, 4)
    spilled_doubles(const float* __restrict__ in, double* __restrict__ out, int rounds) {
  double a[32];
  int t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 32; ++k) a[k] = in[t + 32 * k];
#pragma unroll 1
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 32; ++k) a[k] = a[(k + 11) % 32] * 0.5 + a[k];
  double s = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) s += a[k];
  out[t] = s;
}
PLANT(spills_doubles, register_spills, false) {
  spilled_doubles<<<pool.sms * 8, 512>>>(pool.a, (double*)pool.b, 60);
}

__global__ void local_histogram(const std::uint32_t* __restrict__ in,
                                std::uint32_t* __restrict__ out, int iters) {
  std::uint32_t bins[64];
#pragma unroll
  for (int k = 0; k < 64; ++k) bins[k] = 0;
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int i = 0; i < iters; ++i) {
    std::uint32_t x = in[(t + i * stride) & 0x7ffffff];
#pragma unroll
    for (int k = 0; k < 4; ++k) bins[(x >> (8 * k)) & 63]++;
  }
  std::uint32_t s = 0;
#pragma unroll
  for (int k = 0; k < 64; ++k) s += bins[k] * k;
  out[t] = s;
}
PLANT(local_bins, local_memory_indexing, false) {
  local_histogram<<<pool.sms * 16, 256>>>(pool.u, (std::uint32_t*)pool.b, 32);
}

__global__ void local_sort(const float* __restrict__ in, float* __restrict__ out) {
  float v[40];
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 40; ++k) {
    float x = in[(std::size_t(k) << 20) + t];
    int j = k - 1;
    for (; j >= 0 && v[j] > x; --j) v[j + 1] = v[j];
    v[j + 1] = x;
  }
  out[t] = v[10] + v[20] + v[int(v[30] * 39.0f)];
}
PLANT(local_insertion_sort, local_memory_indexing, false) {
  local_sort<<<pool.sms * 24, 256>>>(pool.a, pool.b);
}

__global__ void local_stack(const std::uint32_t* __restrict__ in, std::uint32_t* __restrict__ out,
                            int rounds) {
  std::uint32_t stack[48];
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t x = in[t], s = 0;
  for (int k = 0; k < 48; ++k) stack[k] = x + k;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    std::uint32_t i = (x >> 4) % 48, j = (x >> 11) % 48;
    std::uint32_t v = stack[i];
    stack[j] = v + r;
    x = x * 1664525u + 1013904223u;
    s += v;
  }
  out[t] = s;
}
PLANT(local_dynamic_stack, local_memory_indexing, false) {
  local_stack<<<pool.sms * 16, 256>>>(pool.u, (std::uint32_t*)pool.b, 300);
}

__global__ void lane_switch(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[t], y = x;
  for (int r = 0; r < rounds; ++r) {
    switch ((t + r) & 7) {
    case 0:
      for (int i = 0; i < 16; ++i) y = fmaf(y, x, 0.1f);
      break;
    case 1:
      for (int i = 0; i < 16; ++i) y = fmaf(y, y, x) * 0.5f;
      break;
    case 2:
      for (int i = 0; i < 16; ++i) y = fabsf(y - x) + 0.2f;
      break;
    case 3:
      for (int i = 0; i < 16; ++i) y = fmaf(x, 0.3f, y * 0.9f);
      break;
    case 4:
      for (int i = 0; i < 16; ++i) y = fminf(y * 1.1f, x + 1.0f);
      break;
    case 5:
      for (int i = 0; i < 16; ++i) y = fmaxf(y * 0.9f, x - 1.0f);
      break;
    case 6:
      for (int i = 0; i < 16; ++i) y = fmaf(-y, x, 0.7f);
      break;
    default:
      for (int i = 0; i < 16; ++i) y = fmaf(y, 0.8f, x * x);
      break;
    }
  }
  out[t] = y;
}
PLANT(lane_switch_8, warp_divergence, false) {
  lane_switch<<<pool.sms * 16, 256>>>(pool.a, pool.b, 60);
}

__global__ void escape_time(const float* __restrict__ in, float* __restrict__ out, int most) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int rounds = mix(t) % 16 == 0 ? most : most / 16; // random trip counts in a warp
  float x = in[t], y = x, z = 1 - x;
  for (int i = 0; i < rounds; ++i) y = fmaf(y, x, 0.3f), z = fmaf(z, y, 0.1f) * 0.5f;
  out[t] = y + z;
}
PLANT(random_trip_counts, warp_divergence, false) {
  escape_time<<<pool.sms * 64, 256>>>(pool.a, pool.b, 800);
}

__global__ void collatz(const std::uint32_t* __restrict__ in, std::uint32_t* __restrict__ out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t x = (in[t] & 0xfffff) + 2, steps = 0;
#pragma unroll 1
  while (x != 1 && steps < 600) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    ++steps;
  }
  out[t] = steps;
}
PLANT(collatz_lengths, warp_divergence, false) {
  collatz<<<pool.sms * 128, 256>>>(pool.u, (std::uint32_t*)pool.b);
}

__global__ void count_into(const std::uint32_t* __restrict__ in, float* __restrict__ bins, int n,
                           std::uint32_t mask) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    atomicAdd(bins + (in[i] & mask), 1.0f);
}
PLANT(global_histogram_4, atomic_contention, false) {
  count_into<<<pool.sms * 8, 256>>>(pool.u, pool.b, 4 << 20, 3);
}
PLANT(global_histogram_64, atomic_contention, false) {
  count_into<<<pool.sms * 8, 256>>>(pool.u, pool.b, 8 << 20, 63);
}

__global__ void total_double(const float* __restrict__ in, double* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, double(in[i]));
}
PLANT(one_double_total, atomic_contention, false) {
  total_double<<<(2 << 20) / 256, 256>>>(pool.a, (double*)pool.b, 2 << 20);
}

__global__ void shared_histogram(const std::uint32_t* __restrict__ in, float* __restrict__ out,
                                 int iters) {
  __shared__ float bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int i = 0; i < iters; ++i) atomicAdd(bins + (in[(t + i * stride) & 0x7ffffff] & 3), 1.0f);
  __syncthreads();
  if (threadIdx.x < 4) atomicAdd(out + threadIdx.x, bins[threadIdx.x]);
}
PLANT(shared_histogram_4, atomic_contention, false) {
  shared_histogram<<<pool.sms * 8, 256>>>(pool.u, pool.b, 24);
}

/// N multiply-adds in a straight line, 16 bytes of code each.
template <int N> __device__ __forceinline__ float straight(float x) {
  float a = x, b = x + 1;
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    asm volatile("fma.rn.f32 %0, %0, %2, %1;" : "+f"(a) : "f"(b), "f"(x));
    asm volatile("fma.rn.f32 %0, %0, %2, %1;" : "+f"(b) : "f"(a), "f"(x));
  }
  return a + b;
}

__global__ void long_body(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[t], s = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) s += straight<24000>(x + s);
  out[t] = s;
}
PLANT(code_of_384_kib, instruction_cache, false) {
  long_body<<<pool.sms * 4, 128>>>(pool.a, pool.b, 6);
}

template <int K> __device__ __noinline__ float section(float x) { return straight<2048>(x + K); }
__global__ void many_sections(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[t], s = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    switch (mix(std::uint32_t(t / 32) * 131u + r) % 16) { // the warp together, each warp elsewhere
    case 0: s += section<0>(x); break;
    case 1: s += section<1>(x); break;
    case 2: s += section<2>(x); break;
    case 3: s += section<3>(x); break;
    case 4: s += section<4>(x); break;
    case 5: s += section<5>(x); break;
    case 6: s += section<6>(x); break;
    case 7: s += section<7>(x); break;
    case 8: s += section<8>(x); break;
    case 9: s += section<9>(x); break;
    case 10: s += section<10>(x); break;
    case 11: s += section<11>(x); break;
    case 12: s += section<12>(x); break;
    case 13: s += section<13>(x); break;
    case 14: s += section<14>(x); break;
    default: s += section<15>(x); break;
    }
  }
  out[t] = s;
}
PLANT(sixteen_code_sections, instruction_cache, false) {
  many_sections<<<pool.sms * 4, 256>>>(pool.a, pool.b, 40);
}

} // namespace
} // namespace planted
