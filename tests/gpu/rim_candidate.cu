// One candidate with many manners: integers[0] picks one.
//   0 honest  1 illegal access  2 endless  3 waits for the device  4 two kernels, a copy and a set
//   5 works in another stream
#include <cstdint>
#include <cuda_runtime.h>

__global__ void scale(const float* in, float* out, std::int64_t n) {
  for (std::int64_t i = blockIdx.x * (std::int64_t)blockDim.x + threadIdx.x; i < n;
       i += (std::int64_t)gridDim.x * blockDim.x)
    out[i] = 2 * in[i] + 1;
}
__global__ void trespass(float* out) { *(out + (1ull << 44)) = 1; }
__global__ void endless(volatile float* out) {
  while (out[0] != 123456.0f) {
  }
}

extern "C" int ako_call(void* const* tensors, const std::int64_t* integers, const double*,
                        void* stream) {
  auto s = static_cast<cudaStream_t>(stream);
  const auto* in = static_cast<const float*>(tensors[0]);
  auto* out = static_cast<float*>(tensors[1]);
  const std::int64_t n = integers[1] * integers[2];
  switch (integers[0]) {
  case 1: trespass<<<1, 1, 0, s>>>(out); break;
  case 2: endless<<<1, 1, 0, s>>>(out); break;
  case 3:
    scale<<<64, 256, 0, s>>>(in, out, n);
    cudaStreamSynchronize(s);
    break;
  case 4:
    cudaMemsetAsync(out, 0, n * 4, s);
    scale<<<64, 256, 0, s>>>(in, out, n);
    scale<<<64, 256, 0, s>>>(in, out, n);
    cudaMemcpyAsync(out + n, out, n * 4, cudaMemcpyDeviceToDevice, s);
    break;
  case 5: {
    static cudaStream_t own = nullptr;
    if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    scale<<<64, 256, 0, own>>>(in, out, n);
    break;
  }
  default: scale<<<64, 256, 0, s>>>(in, out, n);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
