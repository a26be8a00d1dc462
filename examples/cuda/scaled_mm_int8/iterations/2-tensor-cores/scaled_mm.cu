// Integer tensor cores, and every byte that a block needs on its way at once: the whole depth lies in shared memory.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr int k_rows = 64, k_tile_n = 32, k_part = 2048, k_groups = 4;
constexpr int k_warp_n = k_tile_n, k_threads = 128;
constexpr int k_shared_bytes = (k_rows + k_tile_n) * k_part;

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void copy_later(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(from));
}

/// Until at most `pending` of this thread's groups of copies are on their way.
__device__ void await_copies(int pending) {
  switch (pending) {
  case 0: asm volatile("cp.async.wait_group 0;" ::: "memory"); break;
  case 1: asm volatile("cp.async.wait_group 1;" ::: "memory"); break;
  case 2: asm volatile("cp.async.wait_group 2;" ::: "memory"); break;
  default: asm volatile("cp.async.wait_group 3;" ::: "memory"); break;
  }
}

/// Four matrices of eight rows by 16 bytes.
__device__ void load_fragments(uint32_t (&to)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}

/// sums (16 by 8) += a (16 by 32) b (8 by 32)^T
__device__ void multiply(int (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Where 16 bytes of a row lie: rows of k_part bytes, turned so that eight rows at one place touch all banks.
__device__ uint32_t place(int row, int chunk) {
  return static_cast<uint32_t>(row * k_part + (chunk ^ row % 8) * 16);
}

/// All copies of both tiles, in four groups along the depth.
__device__ void begin_copies(uint32_t tile_a, uint32_t tile_b, const int8_t* a, const int8_t* b,
                             int depth) {
  constexpr int k_chunks = k_part / 16 / k_groups; ///< of a row in one group
#pragma unroll
  for (int group = 0; group < k_groups; ++group) {
    for (int i = threadIdx.x; i < (k_rows + k_tile_n) * k_chunks; i += k_threads) {
      const int row = i / k_chunks, chunk = group * k_chunks + i % k_chunks;
      if (row < k_rows)
        copy_later(tile_a + place(row, chunk), a + static_cast<size_t>(row) * depth + chunk * 16);
      else
        copy_later(tile_b + place(row - k_rows, chunk),
                   b + static_cast<size_t>(row - k_rows) * depth + chunk * 16);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
}

/// Each warp multiplies 16 rows by k_warp_n columns, group after group as they arrive.
__device__ void multiply_tiles(int (&sums)[k_warp_n / 8][4], uint32_t tile_a, uint32_t tile_b) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp % 4 * 16 + lane / 8 % 2 * 8 + lane % 8, a_half = lane / 16;
  const int column = warp / 4 * k_warp_n + lane / 16 * 8 + lane % 8, b_half = lane / 8 % 2;
#pragma unroll
  for (int group = 0; group < k_groups; ++group) {
    await_copies(k_groups - 1 - group);
    __syncthreads();
#pragma unroll 4
    for (int step = 0; step < k_part / k_groups / 32; ++step) {
      const int chunk = group * (k_part / k_groups / 16) + step * 2;
      uint32_t fa[4];
      load_fragments(fa, tile_a + place(row, chunk + a_half));
#pragma unroll
      for (int pair = 0; pair < k_warp_n / 16; ++pair) {
        uint32_t fb[4];
        load_fragments(fb, tile_b + place(column + pair * 16, chunk + b_half));
        multiply(sums[pair * 2], fa, fb[0], fb[1]);
        multiply(sums[pair * 2 + 1], fa, fb[2], fb[3]);
      }
    }
  }
}

__global__ void __launch_bounds__(k_threads, 1)
    scaled_mm_kernel(const int8_t* a, const int8_t* b, const float* scale_a, const float* scale_b,
                     const __nv_bfloat16* bias, __nv_bfloat16* d, int columns) {
  extern __shared__ __align__(128) uint8_t tiles[];
  const uint32_t tile_a = shared_address(tiles), tile_b = tile_a + k_rows * k_part;
  const int column0 = blockIdx.x * k_tile_n;
  begin_copies(tile_a, tile_b, a, b + static_cast<size_t>(column0) * k_part, k_part);
  int sums[k_warp_n / 8][4] = {};
  multiply_tiles(sums, tile_a, tile_b);
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
  for (int j = 0; j < k_warp_n / 8; ++j) {
    const int column = column0 + j * 8 + lane % 4 * 2;
    const float2 scale = *reinterpret_cast<const float2*>(scale_b + column);
    const float2 shift = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(bias + column));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float row_scale = scale_a[row + half * 8];
      *reinterpret_cast<__nv_bfloat162*>(d + (row + half * 8) * columns + column) =
          __floats2bfloat162_rn(
              static_cast<float>(sums[j][half * 2]) * row_scale * scale.x + shift.x,
              static_cast<float>(sums[j][half * 2 + 1]) * row_scale * scale.y + shift.y);
    }
  }
}

cudaError_t scaled_mm(const int8_t* a, const int8_t* b, const float* scale_a, const float* scale_b,
                      const __nv_bfloat16* bias, __nv_bfloat16* d, int rows, int columns, int depth,
                      cudaStream_t stream) {
  if (rows != k_rows || depth != k_part || columns % k_tile_n != 0) return cudaErrorInvalidValue;
  static const cudaError_t s_allowed = cudaFuncSetAttribute(
      scaled_mm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, k_shared_bytes);
  if (s_allowed != cudaSuccess) return s_allowed;
  scaled_mm_kernel<<<columns / k_tile_n, k_threads, k_shared_bytes, stream>>>(
      a, b, scale_a, scale_b, bias, d, columns);
  return cudaGetLastError();
}
