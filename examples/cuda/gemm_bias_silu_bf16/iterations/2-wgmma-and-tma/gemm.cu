// The tensor memory accelerator brings tiles of 128 by 64, two warpgroups multiply them out of shared memory: no thread
// moves operands any more. Still one tile at a time.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr int k_tile_m = 128, k_tile_n = 128, k_tile_k = 64;
constexpr int k_threads = 256;
constexpr int k_sums = k_tile_n / 2; ///< of a thread
constexpr int k_a_bytes = k_tile_m * k_tile_k * 2, k_b_bytes = k_tile_n * k_tile_k * 2;
constexpr int k_shared_bytes = k_a_bytes + k_b_bytes + 1024; ///< room to align by 1024

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void begin_barrier(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals));
}

__device__ void expect_bytes(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

/// Until the phase of that parity has ended.
__device__ void await(uint64_t* barrier, uint32_t parity) {
  uint32_t done = 0;
  while (done == 0)
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.b32 %0, 1, 0, p;\n}\n"
                 : "=r"(done)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
}

/// A box of the map at (depth, row) into shared memory; the barrier counts its bytes.
__device__ void load_box(void* to, const CUtensorMap* map, uint64_t* barrier, int depth, int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(depth), "r"(row)
               : "memory");
}

/// Rows of 64 values (128 bytes) in the swizzle of 128 bytes; groups of eight rows lie 1024 bytes apart.
__device__ uint64_t describe(const void* tile) {
  const uint64_t address = shared_address(tile);
  return (address & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

__device__ void begin_multiplying() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Pending> __device__ void finish() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

__device__ float silu(float x) { return __fdividef(x, 1.0f + __expf(-x)); }

/// d += A B^T over 16 of the depth: 64 rows of A, 128 of B, both in shared memory. `fresh` forgets what d held.
__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b, bool fresh) {
  const int keep = fresh ? 0 : 1;
  asm volatile(
      "{\n.reg .pred keep;\nsetp.ne.b32 keep, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, keep, 1, 1, 0, 0;\n}\n"
      :
        "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b), "r"(keep));
}

/// One warpgroup's 64 rows: bias, SiLU, bfloat16. A thread holds pairs of columns of two rows.
__device__ void write_out(const float (&sums)[k_sums], const __nv_bfloat16* bias, __nv_bfloat16* d,
                          int row0, int column0, int rows, int columns) {
  const int thread = threadIdx.x % 128;
  const int row = row0 + thread / 32 * 16 + thread % 32 / 4, column = column0 + thread % 4 * 2;
#pragma unroll
  for (int j = 0; j < k_tile_n / 8; ++j) {
    const float2 shift = __bfloat1622float2(
        *reinterpret_cast<const __nv_bfloat162*>(bias + column + j * 8));
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (row + half * 8 < rows)
        *reinterpret_cast<__nv_bfloat162*>(d + static_cast<size_t>(row + half * 8) * columns +
                                           column + j * 8) =
            __floats2bfloat162_rn(silu(sums[j * 4 + half * 2] + shift.x),
                                  silu(sums[j * 4 + half * 2 + 1] + shift.y));
  }
}

__global__ void __launch_bounds__(k_threads)
    gemm_kernel(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                const __nv_bfloat16* bias, __nv_bfloat16* d, int rows, int columns, int depth) {
  extern __shared__ uint8_t raw[];
  uint8_t* tile_a = raw + (1024 - shared_address(raw) % 1024) % 1024;
  uint8_t* tile_b = tile_a + k_a_bytes;
  __shared__ uint64_t full;
  const int row0 = blockIdx.y * k_tile_m, column0 = blockIdx.x * k_tile_n;
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    begin_barrier(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  float sums[k_sums];
  for (int k = 0; k < depth / k_tile_k; ++k) {
    if (threadIdx.x == 0) {
      expect_bytes(&full, k_a_bytes + k_b_bytes);
      load_box(tile_a, &map_a, &full, k * k_tile_k, row0);
      load_box(tile_b, &map_b, &full, k * k_tile_k, column0);
    }
    await(&full, k % 2);
    const uint64_t a = describe(tile_a + group * 64 * k_tile_k * 2), b = describe(tile_b);
    begin_multiplying();
#pragma unroll
    for (int step = 0; step < k_tile_k / 16; ++step) // 16 values are 32 bytes: two units of 16
      multiply(sums, a + step * 2, b + step * 2, k == 0 && step == 0);
    commit();
    finish<0>();
    __syncthreads();
  }
  write_out(sums, bias, d, row0 + group * 64, column0, rows, columns);
}

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                            CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                            CUtensorMapFloatOOBfill);

static Encode encoder() {
  static const Encode s_encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault,
                                     &result);
    return result == cudaDriverEntryPointSuccess ? reinterpret_cast<Encode>(found) : nullptr;
  }();
  return s_encode;
}

/// Boxes of `box_rows` rows by 64 values of a row-major matrix; what lies outside reads as zero.
static bool describe_matrix(CUtensorMap* map, const void* data, int rows, int depth, int box_rows) {
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(depth), static_cast<cuuint64_t>(rows)};
  const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(depth) * 2};
  const cuuint32_t box[2] = {k_tile_k, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[2] = {1, 1};
  return encoder() != nullptr &&
         encoder()(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(data), sizes, pitch,
                   box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

cudaError_t gemm_bias_silu(const __nv_bfloat16* a, const __nv_bfloat16* b,
                           const __nv_bfloat16* bias, __nv_bfloat16* d, int rows, int columns,
                           int depth, cudaStream_t stream) {
  if (depth % k_tile_k != 0 || columns % k_tile_n != 0) return cudaErrorInvalidValue;
  CUtensorMap map_a, map_b;
  if (!describe_matrix(&map_a, a, rows, depth, k_tile_m) ||
      !describe_matrix(&map_b, b, columns, depth, k_tile_n))
    return cudaErrorNotSupported;
  static const cudaError_t s_allowed = cudaFuncSetAttribute(
      gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, k_shared_bytes);
  if (s_allowed != cudaSuccess) return s_allowed;
  const dim3 grid(columns / k_tile_n, (rows + k_tile_m - 1) / k_tile_m);
  gemm_kernel<<<grid, k_threads, k_shared_bytes, stream>>>(map_a, map_b, bias, d, rows, columns,
                                                           depth);
  return cudaGetLastError();
}
