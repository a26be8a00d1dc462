#include <cuda_pipeline.h>
#include <mma.h>

extern "C" __global__ void stream_copy(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

extern "C" __global__ void staged_sum(const float4* x, float* total, int n) {
  __shared__ float4 tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) __pipeline_memcpy_async(&tile[threadIdx.x], x + i, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const float4 v = tile[255 - threadIdx.x];
  atomicAdd(total, __expf(v.x) + v.y + v.z + v.w);
}

extern "C" __global__ void indexed(const int* at, float* y, int n) {
  float bins[32];
  for (int b = 0; b < 32; ++b) bins[b] = 0;
  for (int i = 0; i < n; ++i) bins[at[i] & 31] += 1;
  for (int b = 0; b < 32; ++b) y[32 * threadIdx.x + b] = bins[b & at[b] & 31];
}

extern "C" __global__ void tensor_tile(const half* a, const half* b, float* c) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int k = 0; k < 4; ++k) {
    wmma::load_matrix_sync(fa, a + 16 * k, 64);
    wmma::load_matrix_sync(fb, b + 16 * k, 64);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

extern "C" __global__ void bulk(const float* x, float* y) {
  __shared__ alignas(128) float tile[64];
  __shared__ unsigned long long gate;
  const unsigned s = __cvta_generic_to_shared(tile), g = __cvta_generic_to_shared(&gate);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(g));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "256, [%2];" ::"r"(s), "l"(x), "r"(g) : "memory");
  }
  asm volatile("{\n .reg .pred p;\nW:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
               " @!p bra W;\n}" ::"r"(g));
  y[threadIdx.x] = tile[threadIdx.x];
}
