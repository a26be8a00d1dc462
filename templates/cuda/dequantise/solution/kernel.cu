// Four packed bytes in, sixteen bytes out: both sides of a warp are whole lines. FLIGHT words are loaded before the first is used.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#ifndef THREADS
#define THREADS 256
#endif
#ifndef FLIGHT
#define FLIGHT 4
#endif

/// Eight values of one word; sixteen words share a scale.
__device__ uint4 expand(uint32_t word, float factor, float offset) {
  uint4 out;
  uint32_t* to = &out.x;
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    const auto low = static_cast<float>(word >> (8 * p) & 15u), high = static_cast<float>(word >> (8 * p + 4) & 15u);
    const __nv_bfloat162 pair = __floats2bfloat162_rn((low - offset) * factor, (high - offset) * factor);
    to[p] = *reinterpret_cast<const uint32_t*>(&pair);
  }
  return out;
}

__global__ void __launch_bounds__(THREADS)
    dequant_kernel(const uint32_t* __restrict__ packed, const __nv_bfloat16* __restrict__ scale,
                   const uint8_t* __restrict__ zero, uint4* __restrict__ out, unsigned words) {
  const unsigned first = blockIdx.x * (THREADS * FLIGHT) + threadIdx.x;
  uint32_t word[FLIGHT];
  float factor[FLIGHT], offset[FLIGHT];
#pragma unroll
  for (int f = 0; f < FLIGHT; ++f) {
    const unsigned i = first + f * THREADS;
    if (i >= words) continue;
    word[f] = __ldcs(packed + i);
    factor[f] = __bfloat162float(scale[i / 16]);
    offset[f] = static_cast<float>(zero[i / 16]);
  }
#pragma unroll
  for (int f = 0; f < FLIGHT; ++f) {
    const unsigned i = first + f * THREADS;
    if (i < words) __stcs(out + i, expand(word[f], factor[f], offset[f]));
  }
}

cudaError_t dequant_int4(const uint8_t* packed, const __nv_bfloat16* scale, const uint8_t* zero, __nv_bfloat16* out,
                         long long rows, long long depth, cudaStream_t stream) {
  const long long words = rows * depth / 8;
  if (depth % 128 != 0 || words > 0x7fffffff) return cudaErrorInvalidValue;
  const auto blocks = static_cast<unsigned>((words + THREADS * FLIGHT - 1) / (THREADS * FLIGHT));
  dequant_kernel<<<blocks, THREADS, 0, stream>>>(reinterpret_cast<const uint32_t*>(packed), scale, zero,
                                                 reinterpret_cast<uint4*>(out), static_cast<unsigned>(words));
  return cudaGetLastError();
}
