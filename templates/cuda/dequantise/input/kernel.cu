// As it is written first: a byte a thread, two values out.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void dequant_kernel(const unsigned char* packed, const __nv_bfloat16* scale, const unsigned char* zero,
                               __nv_bfloat16* out, long long bytes) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i >= bytes) return;
  const float factor = __bfloat162float(scale[i / 64]);
  const int middle = zero[i / 64];
  out[2 * i] = __float2bfloat16(static_cast<float>((packed[i] & 15) - middle) * factor);
  out[2 * i + 1] = __float2bfloat16(static_cast<float>((packed[i] >> 4) - middle) * factor);
}

cudaError_t dequant_int4(const unsigned char* packed, const __nv_bfloat16* scale, const unsigned char* zero,
                         __nv_bfloat16* out, long long rows, long long depth, cudaStream_t stream) {
  const long long bytes = rows * depth / 2;
  dequant_kernel<<<static_cast<unsigned>((bytes + 255) / 256), 256, 0, stream>>>(packed, scale, zero, out, bytes);
  return cudaGetLastError();
}
