// Kernels that the instrument is held against. nvcc -shared ... with one of
//   [-DAKO_DELAY=cycles [-DAKO_DELAY_OF_64=n]]
//                                   rows of H bfloat16, y = x / sqrt(mean(x^2) + eps) * w; n of 64
//                                   block waits that long before it starts: a planted slow-down
//   -DREFERENCE                     the same in float64, y is float64
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#ifndef AKO_DELAY
#define AKO_DELAY 0
#endif
#ifndef AKO_DELAY_OF_64
#define AKO_DELAY_OF_64 64
#endif

namespace {

#ifndef REFERENCE
__device__ float block_sum(float value) {
  __shared__ float parts[32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : 0;
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

__global__ void rmsnorm(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, int h,
                        float eps) {
  if (AKO_DELAY > 0 && blockIdx.x % 64 < AKO_DELAY_OF_64) {
    const long long begin = clock64();
    while (clock64() - begin < AKO_DELAY) {
    }
  }
  const auto* row = reinterpret_cast<const uint4*>(x + (std::int64_t)blockIdx.x * h);
  auto* out = reinterpret_cast<uint4*>(y + (std::int64_t)blockIdx.x * h);
  const auto* weight = reinterpret_cast<const uint4*>(w);
  uint4 raw = row[threadIdx.x], factor = weight[threadIdx.x];
  const auto* in = reinterpret_cast<const __nv_bfloat16*>(&raw);
  const auto* by = reinterpret_cast<const __nv_bfloat16*>(&factor);
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += __bfloat162float(in[i]) * __bfloat162float(in[i]);
  const float scale = rsqrtf(block_sum(sum) / h + eps);
  uint4 result;
  auto* to = reinterpret_cast<__nv_bfloat16*>(&result);
  for (int i = 0; i < 8; ++i)
    to[i] = __float2bfloat16(__bfloat162float(in[i]) * scale * __bfloat162float(by[i]));
  out[threadIdx.x] = result;
}

#else
__global__ void reference(const __nv_bfloat16* x, const __nv_bfloat16* w, double* y, int h,
                          double eps) {
  const auto* row = x + (std::int64_t)blockIdx.x * h;
  double sum = 0;
  for (int i = 0; i < h; ++i) {
    const double v = __bfloat162float(row[i]);
    sum += v * v;
  }
  const double scale = 1 / sqrt(sum / h + eps);
  for (int i = threadIdx.x; i < h; i += blockDim.x)
    y[(std::int64_t)blockIdx.x * h + i] =
        (double)__bfloat162float(row[i]) * scale * (double)__bfloat162float(w[i]);
}

#endif

} // namespace

extern "C" int ako_call(void* const* tensors, const std::int64_t* integers, const double* scalars,
                        void* stream) {
  const auto m = static_cast<unsigned>(integers[0]);
  const auto h = static_cast<int>(integers[1]);
  auto s = static_cast<cudaStream_t>(stream);
  const auto* x = static_cast<const __nv_bfloat16*>(tensors[0]);
  const auto* w = static_cast<const __nv_bfloat16*>(tensors[1]);
#ifdef REFERENCE
  reference<<<m, 256, 0, s>>>(x, w, static_cast<double*>(tensors[2]), h, scalars[0]);
#else
  rmsnorm<<<m, static_cast<unsigned>(h / 8), 0, s>>>(x, w, static_cast<__nv_bfloat16*>(tensors[2]), h,
                                                     static_cast<float>(scalars[0]));
#endif
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
