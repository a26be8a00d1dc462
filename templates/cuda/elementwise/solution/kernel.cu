// Sixteen bytes a load and store, FLIGHT pairs of loads on their way before the first is used.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#ifndef THREADS
#define THREADS 256
#endif
#ifndef FLIGHT
#define FLIGHT 2
#endif

struct alignas(16) Eight {
  __nv_bfloat162 pair[4];
};

/// Past the first-level cache: nothing here is read twice.
__device__ Eight load_once(const Eight* from) {
  uint4 bits;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from));
  return *reinterpret_cast<Eight*>(&bits);
}

__device__ void store_once(Eight* to, const Eight& value) {
  __stcs(reinterpret_cast<uint4*>(to), *reinterpret_cast<const uint4*>(&value));
}

__device__ float silu(float x) { return __fdividef(x, 1.0f + __expf(-x)); }

/// `vectors`: of eight values in a row of `out`; `all`: of the whole of it.
__global__ void __launch_bounds__(THREADS)
    swiglu_kernel(const Eight* __restrict__ x, Eight* __restrict__ out, unsigned vectors, unsigned all) {
  const unsigned first = blockIdx.x * (THREADS * FLIGHT) + threadIdx.x;
  Eight gate[FLIGHT], up[FLIGHT];
#pragma unroll
  for (int f = 0; f < FLIGHT; ++f) {
    const unsigned i = first + f * THREADS;
    if (i >= all) continue;
    const size_t at = static_cast<size_t>(i / vectors) * vectors + i; // row * 2 * vectors + column
    gate[f] = load_once(x + at);
    up[f] = load_once(x + at + vectors);
  }
#pragma unroll
  for (int f = 0; f < FLIGHT; ++f) {
    const unsigned i = first + f * THREADS;
    if (i >= all) continue;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 g = __bfloat1622float2(gate[f].pair[p]), u = __bfloat1622float2(up[f].pair[p]);
      gate[f].pair[p] = __floats2bfloat162_rn(silu(g.x) * u.x, silu(g.y) * u.y);
    }
    store_once(out + i, gate[f]);
  }
}

cudaError_t swiglu(const __nv_bfloat16* x, __nv_bfloat16* out, long long rows, long long hidden,
                   cudaStream_t stream) {
  const long long all = rows * (hidden / 8);
  if (hidden % 8 != 0 || all > 0x7fffffff) return cudaErrorInvalidValue;
  const auto blocks = static_cast<unsigned>((all + THREADS * FLIGHT - 1) / (THREADS * FLIGHT));
  swiglu_kernel<<<blocks, THREADS, 0, stream>>>(reinterpret_cast<const Eight*>(x), reinterpret_cast<Eight*>(out),
                                                static_cast<unsigned>(hidden / 8), static_cast<unsigned>(all));
  return cudaGetLastError();
}
