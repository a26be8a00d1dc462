// As it is written first: an element a thread, two bytes a load.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void swiglu_kernel(const __nv_bfloat16* x, __nv_bfloat16* out, long long rows, long long hidden) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i >= rows * hidden) return;
  const __nv_bfloat16* row = x + i / hidden * 2 * hidden + i % hidden;
  const float gate = __bfloat162float(row[0]), up = __bfloat162float(row[hidden]);
  out[i] = __float2bfloat16(gate / (1.0f + expf(-gate)) * up);
}

cudaError_t swiglu(const __nv_bfloat16* x, __nv_bfloat16* out, long long rows, long long hidden,
                   cudaStream_t stream) {
  const long long blocks = (rows * hidden + 255) / 256;
  swiglu_kernel<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(x, out, rows, hidden);
  return cudaGetLastError();
}
