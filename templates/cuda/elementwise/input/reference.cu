// In float64, an element a thread.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void swiglu_in_double(const __nv_bfloat16* x, double* out, long long rows, long long hidden) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i >= rows * hidden) return;
  const __nv_bfloat16* row = x + i / hidden * 2 * hidden + i % hidden;
  const double gate = static_cast<double>(__bfloat162float(row[0]));
  const double up = static_cast<double>(__bfloat162float(row[hidden]));
  out[i] = gate / (1.0 + exp(-gate)) * up;
}

void swiglu_reference(const __nv_bfloat16* x, double* out, long long rows, long long hidden, cudaStream_t stream) {
  const long long blocks = (rows * hidden + 255) / 256;
  swiglu_in_double<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(x, out, rows, hidden);
}
