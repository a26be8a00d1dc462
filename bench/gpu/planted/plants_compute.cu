// Arithmetic pipes, the tensor cores, and products that leave them idle.
#include "plant.hpp"

#include <cuda_bf16.h>

namespace planted {
namespace {

__global__ void fma_chains(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[t], a[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) a[k] = x + k;
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int u = 0; u < 8; ++u)
#pragma unroll
      for (int k = 0; k < 8; ++k) a[k] = fmaf(a[k], x, 0.25f);
  out[t] = a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7];
}
PLANT(fp32_fma_chains, compute_bound_fp32, true) {
  fma_chains<<<pool.sms * 64, 256>>>(pool.a, pool.b, 200);
}

/// A degree-192 polynomial of every element, four elements a thread.
__global__ void horner(const float4* __restrict__ in, float4* __restrict__ out,
                       const float* __restrict__ c) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float4 x = in[t], y = make_float4(0, 0, 0, 0);
#pragma unroll 32
  for (int i = 0; i < 192; ++i) {
    float k = __ldg(c + i);
    y.x = fmaf(y.x, x.x, k), y.y = fmaf(y.y, x.y, k), y.z = fmaf(y.z, x.z, k),
    y.w = fmaf(y.w, x.w, k);
  }
  out[t] = y;
}
PLANT(fp32_polynomial, compute_bound_fp32, true) {
  horner<<<32768, 512>>>((const float4*)pool.a, (float4*)pool.b, pool.a);
}

__global__ void dfma_chains(const float* __restrict__ in, double* __restrict__ out, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[t], a[4] = {x, x + 1, x + 2, x + 3};
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int u = 0; u < 8; ++u)
#pragma unroll
      for (int k = 0; k < 4; ++k) a[k] = fma(a[k], x, 0.25);
  out[t] = a[0] + a[1] + a[2] + a[3];
}
PLANT(fp64_fma_chains, compute_bound_fp64, true) {
  dfma_chains<<<pool.sms * 32, 256>>>(pool.a, (double*)pool.b, 200);
}

/// Pairwise squared distances in double, the other bodies broadcast from shared memory.
__global__ void pair_energy(const float* __restrict__ pos, double* __restrict__ out, int n) {
  __shared__ double xs[256], ys[256];
  int t = blockIdx.x * 256 + threadIdx.x;
  double x = pos[t], y = pos[t + n], e = 0;
  for (int b = 0; b < n; b += 256) {
    xs[threadIdx.x] = pos[b + threadIdx.x], ys[threadIdx.x] = pos[n + b + threadIdx.x];
    __syncthreads();
#pragma unroll 16
    for (int j = 0; j < 256; ++j) {
      double dx = xs[j] - x, dy = ys[j] - y, d = dx * dx + dy * dy;
      e = fma(d, fma(d, -0.5, 1.0), e);
    }
    __syncthreads();
  }
  out[t] = e;
}
PLANT(fp64_pairs, compute_bound_fp64, false) {
  pair_energy<<<1056, 256>>>(pool.a, (double*)pool.b, 4096);
}

__global__ void hash_rounds(const std::uint32_t* __restrict__ in, std::uint32_t* __restrict__ out,
                            int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t h[4] = {in[t], in[t] + 1, in[t] + 2, in[t] + 3};
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      std::uint32_t x = h[k];
      x = (x << 13) | (x >> 19);
      x ^= x >> 16;
      x *= 0x85ebca6bu;
      x ^= x >> 13;
      x += 0xe6546b64u + r;
      h[k] = x;
    }
  out[t] = h[0] ^ h[1] ^ h[2] ^ h[3];
}
PLANT(int_hash_rounds, compute_bound_int, false) {
  hash_rounds<<<pool.sms * 64, 256>>>(pool.u, (std::uint32_t*)pool.b, 400);
}

__global__ void xorshift(const std::uint32_t* __restrict__ in, std::uint32_t* __restrict__ out,
                         int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t x = in[t], y = x ^ 0x9e3779b9u, z = x + 77, w = ~x, v = 5 * x;
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      std::uint32_t s = x ^ (x >> 2);
      x = y, y = z, z = w, w = v;
      v = (v ^ (v << 4)) ^ (s ^ (s << 1));
      v = min(v, v + (w & z)) ^ (x | y);
    }
  }
  out[t] = v + x + y + z + w;
}
PLANT(int_xorshift, compute_bound_int, false) {
  xorshift<<<pool.sms * 128, 128>>>(pool.u, (std::uint32_t*)pool.b, 300);
}

__global__ void exp_chains(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float a[4] = {in[t], in[t] * 0.5f, in[t] * 0.25f, in[t] * 0.125f};
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 4; ++k) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(a[k]));
  out[t] = a[0] + a[1] + a[2] + a[3];
}
PLANT(sfu_exponentials, compute_bound_sfu, false) {
  exp_chains<<<pool.sms * 32, 256>>>(pool.a, pool.b, 800);
}

__global__ void spherical(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[t], y = in[t] + 0.3f, s = 0;
#pragma unroll 4
  for (int r = 0; r < rounds; ++r) {
    s += __sinf(x) * __cosf(y) + rsqrtf(x + 1.5f + y * y);
    x += 0.001f, y += 0.002f;
  }
  out[t] = s;
}
PLANT(sfu_sin_cos_rsqrt, compute_bound_sfu, false) {
  spherical<<<pool.sms * 32, 256>>>(pool.a, pool.b, 500);
}

/// Warp-level bf16 products on register operands, eight independent accumulators.
__global__ void mma_loop(const std::uint32_t* __restrict__ in, float* __restrict__ out,
                         int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t a[4], b[2];
  for (int i = 0; i < 4; ++i) a[i] = in[t + i] & 0x3fff3fffu;
  for (int i = 0; i < 2; ++i) b[i] = in[t + 4 + i] & 0x3fff3fffu;
  float c[8][4] = {};
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 8; ++k)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                   "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(c[k][0]), "+f"(c[k][1]), "+f"(c[k][2]), "+f"(c[k][3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  float s = 0;
  for (int k = 0; k < 8; ++k) s += c[k][0] + c[k][1] + c[k][2] + c[k][3];
  out[t] = s;
}
PLANT(mma_sync_loop, compute_bound_tensor, false) {
  mma_loop<<<pool.sms * 16, 256>>>(pool.u, pool.b, 500);
}

/// Warpgroup products: both operands from shared memory, 64 x 128 x 16 a step.
__global__ void __launch_bounds__(128)
    wgmma_loop(const std::uint32_t* __restrict__ in, float* __restrict__ out, int rounds) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ alignas(1024) std::uint32_t tile[64 * 16 / 2 + 128 * 16 / 2];
  for (int i = threadIdx.x; i < int(sizeof(tile) / 4); i += 128)
    tile[i] = in[i + blockIdx.x] & 0x3fff3fffu;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  // No swizzle: leading offset 128 bytes, stride offset 256 bytes, both in units of 16 bytes.
  auto descriptor = [](const void* p) {
    std::uint64_t at = (std::uint64_t(__cvta_generic_to_shared(p)) & 0x3ffff) >> 4;
    return at | (std::uint64_t(8) << 16) | (std::uint64_t(16) << 32);
  };
  std::uint64_t da = descriptor(tile), db = descriptor(tile + 64 * 16 / 2);
  float c[64] = {};
  for (int r = 0; r < rounds; ++r) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 4; ++k)
      asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                   "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%"
                   "22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
                   "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%"
                   "51,%52,%53,%54,%55,%56,%57,%58,%59,%60,"
                   "%61,%62,%63}, %64, %65, 1, 1, 1, 0, 0;"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]),
                     "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]),
                     "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]),
                     "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]),
                     "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]),
                     "+f"(c[30]), "+f"(c[31]), "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35]),
                     "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]), "+f"(c[40]), "+f"(c[41]),
                     "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]),
                     "+f"(c[48]), "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]),
                     "+f"(c[54]), "+f"(c[55]), "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59]),
                     "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63])
                   : "l"(da), "l"(db));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  float s = 0;
  for (int k = 0; k < 64; ++k) s += c[k];
  out[blockIdx.x * 128 + threadIdx.x] = s;
#else
  out[0] = float(rounds) + float(in[0]);
#endif
}
PLANT(wgmma_loop_shared, compute_bound_tensor, true) {
  wgmma_loop<<<pool.sms * 16, 128>>>(pool.u, pool.b, 1000);
}

/// Textbook 16 x 16 tiles, one output a thread.
__global__ void gemm_tile16(const float* __restrict__ a, const float* __restrict__ b,
                            float* __restrict__ c, int n) {
  __shared__ float sa[16][16], sb[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float s = 0;
  for (int k = 0; k < n; k += 16) {
    sa[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    sb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) s = fmaf(sa[threadIdx.y][i], sb[i][threadIdx.x], s);
    __syncthreads();
  }
  c[row * n + col] = s;
}
PLANT(gemm_fp32_tile16, tensor_cores_idle, false) {
  gemm_tile16<<<dim3(96, 96), dim3(16, 16)>>>(pool.a, pool.a + (4 << 20), pool.b, 1536);
}

/// 128 x 128 tiles, 8 x 8 outputs a thread, bf16 inputs widened to float: good for FFMA, and beside
/// the point.
__global__ void __launch_bounds__(256)
    gemm_bf16_ffma(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                   float* __restrict__ c, int n) {
  __shared__ float sa[8][132], sb[8][132];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row0 = blockIdx.y * 128,
      col0 = blockIdx.x * 128;
  float acc[8][8] = {};
  for (int k = 0; k < n; k += 8) {
    for (int i = threadIdx.x; i < 1024; i += 256) {
      sa[i % 8][i / 8] = __bfloat162float(a[std::size_t(row0 + i / 8) * n + k + i % 8]);
      sb[i / 128][i % 128] = __bfloat162float(b[std::size_t(k + i / 128) * n + col0 + i % 128]);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 8; ++kk) {
      float x[8], y[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) x[i] = sa[kk][ty * 8 + i], y[i] = sb[kk][tx * 8 + i];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      c[std::size_t(row0 + ty * 8 + i) * n + col0 + tx * 8 + j] = acc[i][j];
}
PLANT(gemm_bf16_on_ffma, tensor_cores_idle, false) {
  gemm_bf16_ffma<<<dim3(32, 32), 256>>>((const __nv_bfloat16*)pool.u,
                                        (const __nv_bfloat16*)pool.u + (16 << 20), pool.b, 4096);
}

/// Attention scores of one query block against all keys, dot products of 64 elements on FFMA.
__global__ void scores_fp32(const float* __restrict__ q, const float* __restrict__ k,
                            float* __restrict__ out, int keys) {
  __shared__ float sq[64][65], sk[64][65];
  for (int i = threadIdx.x; i < 4096; i += 256)
    sq[i / 64][i % 64] = q[std::size_t(blockIdx.x) * 4096 + i];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int b = 0; b < keys; b += 64) {
    for (int i = threadIdx.x; i < 4096; i += 256) sk[i / 64][i % 64] = k[std::size_t(b) * 64 + i];
    __syncthreads();
    float acc[4][4] = {};
#pragma unroll 16
    for (int d = 0; d < 64; ++d)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          acc[i][j] = fmaf(sq[ty + 16 * i][d], sk[tx + 16 * j][d], acc[i][j]);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        out[std::size_t(blockIdx.x * 64 + ty + 16 * i) * keys + b + tx + 16 * j] = acc[i][j];
    __syncthreads();
  }
}
PLANT(attention_scores_ffma, tensor_cores_idle, false) {
  scores_fp32<<<1056, 256>>>(pool.a, pool.a + (32 << 20), pool.b, 1024);
}

} // namespace
} // namespace planted
