// In float64, an element a thread; the low half of a byte comes first.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void dequant_in_double(const unsigned char* packed, const __nv_bfloat16* scale, const unsigned char* zero,
                                  double* out, long long rows, long long depth) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i >= rows * depth) return;
  const int value = i % 2 == 0 ? packed[i / 2] & 15 : packed[i / 2] >> 4;
  out[i] = (value - static_cast<int>(zero[i / 128])) * static_cast<double>(__bfloat162float(scale[i / 128]));
}

void dequant_int4_reference(const unsigned char* packed, const __nv_bfloat16* scale, const unsigned char* zero,
                            double* out, long long rows, long long depth, cudaStream_t stream) {
  const long long blocks = (rows * depth + 255) / 256;
  dequant_in_double<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(packed, scale, zero, out, rows, depth);
}
