// The trusted answer: plain, and in float64.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void scale_add_in_double(const __nv_bfloat16* x, const __nv_bfloat16* y, double* out,
                                    int n, double a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = a * static_cast<double>(__bfloat162float(x[i])) +
             static_cast<double>(__bfloat162float(y[i]));
}

void scale_add_reference(const __nv_bfloat16* x, const __nv_bfloat16* y, double* out, int n,
                         float a, cudaStream_t stream) {
  scale_add_in_double<<<(n + 255) / 256, 256, 0, stream>>>(x, y, out, n, static_cast<double>(a));
}
