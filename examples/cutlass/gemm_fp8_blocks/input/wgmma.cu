// By hand, as the cuda lane's template has it; A's scales lie by rows here.
// Tensor cores on float8, a scale for every 128 of the depth: each stage of the pipeline is one block of scales. Its product goes
// into registers of its own and is added, scaled, to the sums in float32: the unit's own sums keep about 14 bits.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>

#ifndef STAGES
#define STAGES 5
#endif
#ifndef GROUP
#define GROUP 8 // rows of tiles that are walked together
#endif
constexpr int k_tile_m = 128, k_tile_n = 128, k_tile_k = 128;
constexpr int k_stages = STAGES;
constexpr int k_consumers = 2; ///< warpgroups, 64 rows each; one more brings the tiles
constexpr int k_threads = 128 * (k_consumers + 1);
constexpr int k_sums = k_tile_n / 2; ///< of a thread
constexpr int k_a_bytes = k_tile_m * k_tile_k, k_b_bytes = k_tile_n * k_tile_k;
constexpr int k_stage_bytes = k_a_bytes + k_b_bytes;
constexpr int k_shared_bytes = k_stages * k_stage_bytes + 1024; ///< room to align by 1024

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

/// Rows of 128 values (128 bytes) in the swizzle of 128 bytes; groups of eight rows lie 1024 bytes apart.
__device__ uint64_t describe(const void* tile) {
  const uint64_t address = shared_address(tile);
  return (address & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

__device__ void begin_multiplying() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Pending> __device__ void finish() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// d = or += A B^T over 32 of the depth: 64 rows of A, 128 of B, both in shared memory. `fresh` forgets what d held.
__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b, bool fresh) {
  const int keep = fresh ? 0 : 1;
  asm volatile(
      "{\n.reg .pred keep;\nsetp.ne.b32 keep, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, keep, 1, 1;\n}\n"
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

/// One warpgroup's 64 rows. A thread holds pairs of columns of two rows.
__device__ void write_out(const float (&sums)[k_sums], __nv_bfloat16* d, int row0, int column0, int rows,
                          int columns) {
  const int thread = threadIdx.x % 128;
  const int row = row0 + thread / 32 * 16 + thread % 32 / 4, column = column0 + thread % 4 * 2;
#pragma unroll
  for (int j = 0; j < k_tile_n / 8; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (row + half * 8 < rows)
        *reinterpret_cast<__nv_bfloat162*>(d + static_cast<size_t>(row + half * 8) * columns + column + j * 8) =
            __floats2bfloat162_rn(sums[j * 4 + half * 2], sums[j * 4 + half * 2 + 1]);
}

/// Tiles in groups of rows of tiles, so that those under way at one time share what they read.
__device__ void place_of(int tile, int tile_rows, int tile_columns, int& row0, int& column0) {
  const int group = tile / (GROUP * tile_columns), first = group * GROUP;
  const int high = min(GROUP, tile_rows - first), inside = tile - first * tile_columns;
  row0 = (first + inside % high) * k_tile_m;
  column0 = inside / high * k_tile_n;
}

/// The warp that brings tiles: all blocks of the depth of all tiles of this block.
__device__ void bring(const CUtensorMap* map_a, const CUtensorMap* map_b, uint8_t* tiles, uint64_t* full,
                      uint64_t* empty, int tile_rows, int tile_columns, int steps) {
  int turn = 0;
  for (int tile = blockIdx.x; tile < tile_rows * tile_columns; tile += gridDim.x) {
    int row0, column0;
    place_of(tile, tile_rows, tile_columns, row0, column0);
    for (int k = 0; k < steps; ++k, ++turn) {
      const int stage = turn % k_stages;
      await(&empty[stage], (turn / k_stages + 1) % 2); // passes at once the first time round
      uint8_t* at = tiles + stage * k_stage_bytes;
      expect_bytes(&full[stage], k_stage_bytes);
      load_box(at, map_a, &full[stage], k * k_tile_k, row0);
      load_box(at + k_a_bytes, map_b, &full[stage], k * k_tile_k, column0);
    }
  }
}

__global__ void __launch_bounds__(k_threads, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                const float* __restrict__ scale_a, const float* __restrict__ scale_b, __nv_bfloat16* d, int rows,
                int columns, int depth) {
  extern __shared__ uint8_t raw[];
  uint8_t* tiles = raw + (1024 - shared_address(raw) % 1024) % 1024;
  __shared__ uint64_t full[k_stages], empty[k_stages];
  const int steps = depth / k_tile_k;
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < k_stages; ++stage) {
      begin_barrier(&full[stage], 1);
      begin_barrier(&empty[stage], k_consumers * 4); // each warp says for itself that it has read
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const int tile_rows = (rows + k_tile_m - 1) / k_tile_m, tile_columns = columns / k_tile_n;
  if (group == k_consumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == k_consumers * 128)
      bring(&map_a, &map_b, tiles, full, empty, tile_rows, tile_columns, steps);
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  int turn = 0; ///< blocks of the depth since the kernel began; stage and parity follow from it
  for (int tile = blockIdx.x; tile < tile_rows * tile_columns; tile += gridDim.x) {
    int row0, column0;
    place_of(tile, tile_rows, tile_columns, row0, column0);
    const int row = row0 + group * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    const float* upper = scale_a + min(row, rows - 1);
    const float* lower = scale_a + min(row + 8, rows - 1);
    const float* weights = scale_b + static_cast<size_t>(column0 / k_tile_n) * steps;
    float sums[k_sums] = {}, part[k_sums];
    float next_upper = __ldg(upper) * __ldg(weights), next_lower = __ldg(lower) * __ldg(weights);
    for (int k = 0; k < steps; ++k, ++turn) {
      const int stage = turn % k_stages;
      const float scale_upper = next_upper, scale_lower = next_lower;
      await(&full[stage], turn / k_stages % 2);
      const uint8_t* at = tiles + stage * k_stage_bytes;
      const uint64_t a = describe(at + group * 64 * k_tile_k), b = describe(at + k_a_bytes);
      begin_multiplying();
#pragma unroll
      for (int step = 0; step < k_tile_k / 32; ++step) // 32 values are 32 bytes: two units of 16
        multiply(part, a + step * 2, b + step * 2, step == 0);
      commit();
      if (k + 1 < steps) { // on their way while the tensor cores work
        next_upper = __ldg(upper + static_cast<size_t>(k + 1) * rows) * __ldg(weights + k + 1);
        next_lower = __ldg(lower + static_cast<size_t>(k + 1) * rows) * __ldg(weights + k + 1);
      }
      finish<0>();
      if (threadIdx.x % 32 == 0) arrive(&empty[stage]);
#pragma unroll
      for (int j = 0; j < k_sums / 4; ++j) {
        sums[j * 4] = fmaf(scale_upper, part[j * 4], sums[j * 4]);
        sums[j * 4 + 1] = fmaf(scale_upper, part[j * 4 + 1], sums[j * 4 + 1]);
        sums[j * 4 + 2] = fmaf(scale_lower, part[j * 4 + 2], sums[j * 4 + 2]);
        sums[j * 4 + 3] = fmaf(scale_lower, part[j * 4 + 3], sums[j * 4 + 3]);
      }
    }
    write_out(sums, d, row0 + group * 64, column0, rows, columns);
  }
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

/// Boxes of 128 rows by 128 values of a row-major matrix of bytes; what lies outside reads as zero.
static bool describe_matrix(CUtensorMap* map, const void* data, int rows, int depth) {
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(depth), static_cast<cuuint64_t>(rows)};
  const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(depth)};
  const cuuint32_t box[2] = {k_tile_k, 128};
  const cuuint32_t steps[2] = {1, 1};
  return encoder() != nullptr &&
         encoder()(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, const_cast<void*>(data), sizes, pitch, box, steps,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
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

cudaError_t gemm_fp8(const __nv_fp8_e4m3* a, const float* scale_a, const __nv_fp8_e4m3* b, const float* scale_b,
                     __nv_bfloat16* d, void*, int rows, int columns, int depth, cudaStream_t stream) {
  if (depth % k_tile_k != 0 || columns % k_tile_n != 0) return cudaErrorInvalidValue;
  CUtensorMap map_a, map_b;
  if (!describe_matrix(&map_a, a, rows, depth) || !describe_matrix(&map_b, b, columns, depth))
    return cudaErrorNotSupported;
  static const cudaError_t s_allowed =
      cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, k_shared_bytes);
  if (s_allowed != cudaSuccess) return s_allowed;
  const int tiles = (rows + k_tile_m - 1) / k_tile_m * (columns / k_tile_n);
  const int blocks = tiles < multiprocessors() ? tiles : multiprocessors();
  gemm_kernel<<<blocks, k_threads, k_shared_bytes, stream>>>(map_a, map_b, scale_a, scale_b, d, rows, columns, depth);
  return cudaGetLastError();
}
