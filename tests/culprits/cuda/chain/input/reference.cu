#include <cuda_runtime.h>

static __global__ void in_double(const float* x, const float* w, double* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  for (int k = 0; k < 256; ++k) v = v * double(0.99f) + double(0.015625f);
  y[i] = v + w[i % 64];
}

void reference(const float* x, const float* w, double* y, long long n, cudaStream_t stream) {
  in_double<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, w, y, n);
}
