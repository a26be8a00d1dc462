#include <cuda_runtime.h>

static __global__ void in_double(const float* x, double* y, long long h) {
  for (long long i = threadIdx.x; i < h; i += 128)
    y[blockIdx.x * (h + 8) + i] = 2.0 * x[blockIdx.x * h + i];
}

void reference(const float* x, double* y, long long m, long long h, cudaStream_t stream) {
  in_double<<<static_cast<unsigned>(m), 128, 0, stream>>>(x, y, h);
}
