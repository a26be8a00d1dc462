// The row stays in the registers of its block, as many threads as it needs: one trip. Exponentials to the base 2, and
// no division: the logarithm of the sum goes into the exponent.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr float k_log2e = 1.4426950408889634f;

struct alignas(16) Eight {
  __nv_bfloat162 pair[4];
};

/// Minus infinity, eight times.
__device__ Eight nothing() {
  const __nv_bfloat162 low = __float2bfloat162_rn(-INFINITY);
  return {{low, low, low, low}};
}

template <int Warps> __device__ float block_max(float value, float* shared) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  if (Warps == 1) return value;
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[threadIdx.x % Warps];
#pragma unroll
  for (int step = Warps / 2; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

template <int Warps> __device__ float block_sum(float value, float* shared) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (Warps == 1) return value;
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[threadIdx.x % Warps];
#pragma unroll
  for (int step = Warps / 2; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// A row stays in the registers of one block: read once, written once.
template <int Threads, int Each>
__global__ void __launch_bounds__(Threads)
    softmax_kernel(const Eight* __restrict__ x, Eight* __restrict__ y, int vectors) {
  __shared__ float maxima[32], sums[32];
  const size_t begin = static_cast<size_t>(blockIdx.x) * vectors;
  Eight v[Each];
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const int at = i * Threads + threadIdx.x;
    v[i] = at < vectors ? x[begin + at] : nothing();
  }
  __nv_bfloat162 pairs = __float2bfloat162_rn(-INFINITY);
#pragma unroll
  for (int i = 0; i < Each; ++i)
#pragma unroll
    for (int p = 0; p < 4; ++p) pairs = __hmax2(pairs, v[i].pair[p]);
  float highest = fmaxf(__low2float(pairs), __high2float(pairs));
  highest = block_max<Threads / 32>(highest, maxima) * k_log2e;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < Each; ++i)
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v[i].pair[p]);
      sum += exp2f(fmaf(f.x, k_log2e, -highest)) + exp2f(fmaf(f.y, k_log2e, -highest));
    }
  // exp(x - max) / sum = 2^(x log2(e) - max log2(e) - log2(sum))
  const float shift = highest + log2f(block_sum<Threads / 32>(sum, sums));
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const int at = i * Threads + threadIdx.x;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 f = __bfloat1622float2(v[i].pair[p]);
      v[i].pair[p] = __floats2bfloat162_rn(exp2f(fmaf(f.x, k_log2e, -shift)),
                                           exp2f(fmaf(f.y, k_log2e, -shift)));
    }
    if (at < vectors) y[begin + at] = v[i];
  }
}

template <int Threads, int Each>
void launch(const Eight* x, Eight* y, int rows, int vectors, cudaStream_t stream) {
  softmax_kernel<Threads, Each><<<rows, Threads, 0, stream>>>(x, y, vectors);
}

cudaError_t softmax_rows(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int columns,
                         cudaStream_t stream) {
  const auto* from = reinterpret_cast<const Eight*>(x);
  auto* to = reinterpret_cast<Eight*>(y);
  const int vectors = columns / 8;
  if (vectors <= 32) launch<32, 1>(from, to, rows, vectors, stream);
  else if (vectors <= 128) launch<128, 1>(from, to, rows, vectors, stream);
  else if (vectors <= 512) launch<512, 1>(from, to, rows, vectors, stream);
  else if (vectors <= 1024) launch<512, 2>(from, to, rows, vectors, stream);
  else if (vectors <= 2048) launch<1024, 2>(from, to, rows, vectors, stream);
  else if (vectors <= 4096) launch<1024, 4>(from, to, rows, vectors, stream);
  else return cudaErrorInvalidValue;
  return cudaGetLastError();
}
