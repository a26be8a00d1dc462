// Bandwidth roofs, access patterns, layouts.
#include "plant.hpp"

namespace planted {
namespace {

constexpr std::size_t k_floats = k_area / 4;

__global__ void stream_copy(const float4* __restrict__ in, float4* __restrict__ out,
                            std::size_t n) {
  std::size_t i = blockIdx.x * std::size_t(1024) + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (i + k * 256 < n) v[k] = in[i + k * 256];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (i + k * 256 < n) out[i + k * 256] = v[k];
}
PLANT(copy_vec4, dram_bandwidth_bound, true) {
  std::size_t n = k_area / 16;
  stream_copy<<<unsigned(n / 1024), 256>>>((const float4*)pool.a, (float4*)pool.b, n);
}

__global__ void triad(const float4* __restrict__ x, const float4* __restrict__ y,
                      float4* __restrict__ z, float s, std::size_t n) {
  std::size_t i = blockIdx.x * std::size_t(512) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 2; ++k, i += 256) {
    if (i >= n) return;
    float4 p = x[i], q = y[i];
    z[i] = make_float4(p.x + s * q.x, p.y + s * q.y, p.z + s * q.z, p.w + s * q.w);
  }
}
PLANT(triad_vec4, dram_bandwidth_bound, true) {
  std::size_t n = k_area / 32;
  triad<<<unsigned(n / 512), 256>>>((const float4*)pool.a, (const float4*)pool.a + n,
                                    (float4*)pool.b, 1.5f, n);
}

__global__ void sum_rows(const float4* __restrict__ in, float* __restrict__ out, int per_block) {
  const float4* p = in + std::size_t(blockIdx.x) * per_block;
  float s = 0;
#pragma unroll 8
  for (int i = threadIdx.x; i < per_block; i += 512) {
    float4 v = __ldcs(p + i);
    s += (v.x + v.y) + (v.z + v.w);
  }
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
  __shared__ float part[16];
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 16; ++i) s += part[i];
    out[blockIdx.x] = s;
  }
}
PLANT(reduce_read_only, dram_bandwidth_bound, true) {
  int blocks = 4096, per_block = int(k_area / 16 / blocks);
  sum_rows<<<blocks, 512>>>((const float4*)pool.a, pool.b, per_block);
}

__global__ void l2_reader(const float4* __restrict__ in, float* out, int n, int passes) {
  float s = 0;
  int stride = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int p = 0; p < passes; ++p)
#pragma unroll 8
    for (int i = t; i < n; i += stride) {
      float4 v = __ldcg(in + i);
      s += (v.x + v.y) + (v.z + v.w);
    }
  if (s == -1.0f) out[t] = s;
}
PLANT(l2_read_loop, l2_bandwidth_bound, false) {
  l2_reader<<<pool.sms * 8, 256>>>((const float4*)pool.a, pool.b, (16 << 20) / 16, 100);
}

__global__ void l2_rewrite(float4* __restrict__ data, int n, int passes) {
  int stride = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int p = 0; p < passes; ++p)
#pragma unroll 4
    for (int i = t; i < n; i += stride) {
      float4 v = __ldcg(data + i);
      v.x += 1, v.y += 2, v.z += 3, v.w += 4;
      __stcg(data + i, v);
    }
}
PLANT(l2_update_loop, l2_bandwidth_bound, false) {
  l2_rewrite<<<pool.sms * 4, 512>>>((float4*)pool.b, (12 << 20) / 16, 60);
}

/// Many rows gathered from a table that fits L2: an embedding look-up with a small vocabulary.
__global__ void l2_gather_rows(const float4* __restrict__ table,
                               const std::uint32_t* __restrict__ ids, float4* __restrict__ out,
                               int per_warp) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  float4 s = make_float4(0, 0, 0, 0);
#pragma unroll 8
  for (int i = 0; i < per_warp; ++i) {
    std::uint32_t row =
        mix(std::uint32_t(warp * 977 + i)) & 16383u; // 16384 rows of 512 bytes = 8 MiB
    float4 v = __ldcg(table + row * 32 + lane);
    s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
  }
  out[warp * 32 + lane] = s;
}
PLANT(l2_embedding_bag, l2_bandwidth_bound, false) {
  l2_gather_rows<<<pool.sms * 16, 256>>>((const float4*)pool.a, pool.u, (float4*)pool.b, 256);
}

__global__ void shared_reader(const float4* __restrict__ in, float* out, int passes) {
  __shared__ float4 tile[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  float s = 0;
  for (int p = 0; p < passes; ++p)
#pragma unroll 16
    for (int k = 0; k < 16; ++k) {
      float4 v = tile[(threadIdx.x + k * 32 + p) & 1023];
      s += (v.x + v.y) + (v.z + v.w);
    }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
PLANT(shared_vec4_reads, l1_shared_bandwidth_bound, false) {
  shared_reader<<<pool.sms * 8, 512>>>((const float4*)pool.a, pool.b, 200);
}

__global__ void l1_table(const float4* __restrict__ table, float* out, int passes) {
  float s = 0;
  for (int p = 0; p < passes; ++p)
#pragma unroll 16
    for (int k = 0; k < 16; ++k) {
      float4 v = __ldg(table + ((threadIdx.x + k * 64 + p * 8) & 1023)); // 16 KiB, lives in L1
      s += (v.x + v.y) + (v.z + v.w);
    }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
PLANT(l1_table_reads, l1_shared_bandwidth_bound, false) {
  l1_table<<<pool.sms * 8, 512>>>((const float4*)pool.a, pool.b, 200);
}

/// Box filter over shared memory, nine reads per output.
__global__ void stencil9(const float* __restrict__ in, float* __restrict__ out, int passes) {
  __shared__ float tile[34][64];
  for (int i = threadIdx.x; i < 34 * 64; i += blockDim.x)
    ((float*)tile)[i] = in[i + blockIdx.x % 64];
  __syncthreads();
  int x = threadIdx.x % 32 + 1, y0 = threadIdx.x / 32 + 1;
  float s = 0;
  for (int p = 0; p < passes; ++p) {
    int y = 1 + ((y0 + p) & 31);
    const volatile float* t = &tile[y][x];
    s += t[-65] + t[-64] + t[-63] + t[-1] + t[0] + t[1] + t[63] + t[64] + t[65];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
PLANT(shared_box_filter, l1_shared_bandwidth_bound, false) {
  stencil9<<<pool.sms * 8, 512>>>(pool.a, pool.b, 400);
}

__global__ void strided_scale(const float* __restrict__ in, float* __restrict__ out, int n,
                              int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[std::size_t(i) * stride] = in[std::size_t(i) * stride] * 2.0f;
}
PLANT(stride16_scale, uncoalesced_global_access, false) {
  int n = int(k_floats / 16);
  strided_scale<<<n / 256, 256>>>(pool.a, pool.b, n, 16);
}

struct Particle {
  float x, y, z, vx, vy, vz, mass, charge, rest[8];
};
__global__ void push_particles(Particle* __restrict__ p, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  p[i].x += dt * p[i].vx;
}
PLANT(array_of_structs, uncoalesced_global_access, false) {
  int n = int(k_area / sizeof(Particle));
  push_particles<<<n / 128, 128>>>((Particle*)pool.b, n, 0.1f);
}

__global__ void scatter_add_one(const std::uint32_t* __restrict__ where, float* __restrict__ out,
                                int n, std::uint32_t mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[where[i] & mask] = float(i);
}
PLANT(random_scatter, uncoalesced_global_access, false) {
  int n = 32 << 20;
  scatter_add_one<<<n / 256, 256>>>(pool.u, pool.b, n, (1u << 27) - 1);
}

__global__ void gather_points(const std::uint32_t* __restrict__ where, const float* __restrict__ in,
                              float* __restrict__ out, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i >= n) return;
  uint4 w = *(const uint4*)(where + i);
  const std::uint32_t mask = (1u << 27) - 1;
  float4 v = make_float4(in[w.x & mask], in[w.y & mask], in[w.z & mask], in[w.w & mask]);
  *(float4*)(out + i) = v;
}
PLANT(random_gather, uncoalesced_global_access, false) {
  int n = 32 << 20;
  gather_points<<<n / 1024, 256>>>(pool.u, pool.a, pool.b, n);
}

__global__ void byte_invert(const std::uint8_t* __restrict__ in, std::uint8_t* __restrict__ out,
                            std::size_t n) {
  std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = std::uint8_t(255 - in[i]);
}
PLANT(byte_image_invert, narrow_accesses, false) {
  std::size_t n = 128 << 20;
  byte_invert<<<unsigned(n / 256), 256>>>((const std::uint8_t*)pool.u, (std::uint8_t*)pool.b, n);
}

__global__ void dequant_bytes(const std::int8_t* __restrict__ q, const float* __restrict__ scale,
                              std::int8_t* __restrict__ out, int n, int group) {
  int stride = gridDim.x * blockDim.x;
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    out[i] = std::int8_t(float(q[i]) * scale[i / group]);
}
PLANT(byte_requantise, narrow_accesses, false) {
  dequant_bytes<<<pool.sms * 8, 256>>>((const std::int8_t*)pool.u, pool.a, (std::int8_t*)pool.b,
                                       96 << 20, 65536);
}

__global__ void half_add(const std::uint16_t* __restrict__ x, const std::uint16_t* __restrict__ y,
                         std::uint16_t* __restrict__ z, int n) {
  int stride = gridDim.x * blockDim.x;
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    z[i] = std::uint16_t(x[i] ^ y[i]);
}
PLANT(two_byte_xor, narrow_accesses, false) {
  half_add<<<pool.sms * 8, 256>>>((const std::uint16_t*)pool.u, (const std::uint16_t*)pool.a,
                                  (std::uint16_t*)pool.b, 96 << 20);
}

__global__ void column_sums(const float* __restrict__ in, float* out, int passes, int step) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  float s = 0;
  for (int p = 0; p < passes; ++p)
#pragma unroll 8
    for (int k = 0; k < 8; ++k) s += tile[(threadIdx.x * step + k + p) & 8191];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
PLANT(shared_stride8, shared_bank_conflicts, false) {
  column_sums<<<pool.sms * 12, 256, 32768>>>(pool.a, pool.b, 200, 8);
}
PLANT(shared_stride32, shared_bank_conflicts, false) {
  column_sums<<<pool.sms * 6, 256, 32768>>>(pool.a, pool.b, 60, 32);
}

__global__ void repeated_transpose(const float* __restrict__ in, float* out, int passes) {
  __shared__ float tile[32][32]; // no padding
  int x = threadIdx.x % 32, y = threadIdx.x / 32;
  float v = in[blockIdx.x * 1024 + threadIdx.x];
  for (int p = 0; p < passes; ++p) {
    tile[x][y] = v;
    __syncthreads();
    v = tile[y][x] + 1.0f;
    __syncthreads();
  }
  out[blockIdx.x * 1024 + threadIdx.x] = v;
}
PLANT(transpose_unpadded_tile, shared_bank_conflicts, false) {
  repeated_transpose<<<pool.sms * 4, 1024>>>(pool.a, pool.b, 60);
}

__global__ void tiled_transpose(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8)
    tile[threadIdx.y + j][threadIdx.x] = in[std::size_t(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8)
    out[std::size_t(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
PLANT(matrix_transpose, layout_conversion, false) {
  tiled_transpose<<<dim3(256, 256), dim3(32, 8)>>>(pool.a, pool.b, 8192);
}

/// [planes][pixels] to [pixels][planes] for 64 planes, through shared memory.
__global__ void planes_to_pixels(const float* __restrict__ in, float* __restrict__ out,
                                 int pixels) {
  __shared__ float tile[64][65];
  int p0 = blockIdx.x * 64;
  const float* src = in + std::size_t(blockIdx.y) * 64 * pixels;
  float* dst = out + std::size_t(blockIdx.y) * 64 * pixels;
  for (int i = threadIdx.x; i < 4096; i += 256)
    tile[i / 64][i % 64] = src[std::size_t(i / 64) * pixels + p0 + i % 64];
  __syncthreads();
  for (int i = threadIdx.x; i < 4096; i += 256)
    dst[std::size_t(p0 + i / 64) * 64 + i % 64] = tile[i % 64][i / 64];
}
PLANT(planes_to_channels_last, layout_conversion, false) {
  int pixels = 112 * 64;
  planes_to_pixels<<<dim3(pixels / 64, 256), 256>>>(pool.a, pool.b, pixels);
}

} // namespace
} // namespace planted
