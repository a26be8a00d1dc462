// faults race|oob|uninitialised: programs for the sanitizer, one planted fault each.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void neighbour_race(const float* in, float* out) {
  __shared__ float tile[256];
  tile[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  // the barrier that belongs here is left out
  out[blockIdx.x * 256 + threadIdx.x] = tile[(threadIdx.x + 33) % 256];
}

__global__ void write_past_end(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = float(i); // one too far
}

__global__ void read_unwritten(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x] + 1.0f;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "race";
  float *in = nullptr, *out = nullptr;
  const int n = 1024;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  if (std::strcmp(what, "uninitialised") != 0) cudaMemset(in, 0, n * sizeof(float));
  if (std::strcmp(what, "race") == 0) neighbour_race<<<4, 256>>>(in, out);
  if (std::strcmp(what, "oob") == 0) write_past_end<<<5, 256>>>(out, n);
  if (std::strcmp(what, "uninitialised") == 0) read_unwritten<<<1, 256>>>(in, out);
  cudaError_t status = cudaDeviceSynchronize();
  std::printf("%s: %s\n", what, cudaGetErrorString(status));
  return status == cudaSuccess ? 0 : 1;
}
