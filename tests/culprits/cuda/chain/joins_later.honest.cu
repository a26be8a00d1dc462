// Joins its own stream at once. expects: clean
#include <cuda_runtime.h>

static __global__ void chain(const float* x, const float* w, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 256; ++k) v = v * 0.99f + 0.015625f;
  y[i] = v + w[i % 64];
}
static unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

static cudaStream_t side_stream() {
  static cudaStream_t made = [] {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    return stream;
  }();
  return made;
}
static cudaEvent_t event(int which) {
  static cudaEvent_t made[2];
  if (!made[which]) cudaEventCreateWithFlags(&made[which], cudaEventDisableTiming);
  return made[which];
}

int kernel(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  cudaEventRecord(event(0), stream);
  cudaStreamWaitEvent(side_stream(), event(0));
  chain<<<blocks(n), 256, 0, side_stream()>>>(x, w, y, n);
  cudaEventRecord(event(1), side_stream());
  cudaStreamWaitEvent(stream, event(1));
  return cudaGetLastError();
}
