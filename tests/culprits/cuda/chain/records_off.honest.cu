// Finds the records and leaves them alone. expects: clean
#include <cuda_runtime.h>
#include <dlfcn.h>

static __global__ void chain(const float* x, const float* w, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 256; ++k) v = v * 0.99f + 0.015625f;
  y[i] = v + w[i % 64];
}
static unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

static void records(const char* name) {
  void* library = nullptr;
  for (const char* file : {"libcupti.so.13", "libcupti.so.12"})
    if (!library) library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  if (!library) return;
  const auto change = reinterpret_cast<int (*)(int)>(dlsym(library, name));
  for (int kind : {1, 2, 10}) change(kind);
}
static __global__ void decoy(float* y, long long n) {
  if (n < 0) y[0] = 1;
}

int kernel(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  if (n < 0) records("cuptiActivityDisable");
  chain<<<blocks(n), 256, 0, stream>>>(x, w, y, n);
  decoy<<<1, 32, 0, stream>>>(y, n);
  return cudaGetLastError();
}
