// planted [--list] [NAME...]: launches the named plants (all without names), one kernel each,
// between cudaProfilerStart and cudaProfilerStop. --list prints name, id and tuned.
#include "plant.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_profiler_api.h>

namespace planted {

std::vector<Plant>& plants() {
  static std::vector<Plant> all;
  return all;
}

namespace {

__global__ void fill(float* out, std::size_t n, std::uint32_t salt) {
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n;
       i += std::size_t(gridDim.x) * blockDim.x)
    out[i] = float(mix(std::uint32_t(i) ^ salt) >> 8) * (1.0f / 16777216.0f);
}
__global__ void fill_bits(std::uint32_t* out, std::size_t n) {
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n;
       i += std::size_t(gridDim.x) * blockDim.x)
    out[i] = mix(std::uint32_t(i) * 2654435761u + 17);
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

} // namespace
} // namespace planted

int main(int argc, char** argv) {
  using namespace planted;
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    for (const Plant& plant : plants())
      std::printf("%s %s %s\n", plant.name, plant.id, plant.tuned ? "tuned" : "planted");
    return 0;
  }
  Pool pool;
  check(cudaMalloc(&pool.a, k_area), "cudaMalloc");
  check(cudaMalloc(&pool.b, k_area), "cudaMalloc");
  check(cudaMalloc(&pool.u, k_area), "cudaMalloc");
  check(cudaDeviceGetAttribute(&pool.sms, cudaDevAttrMultiProcessorCount, 0), "multiprocessors");
  fill<<<2048, 256>>>(pool.a, k_area / 4, 1);
  fill<<<2048, 256>>>(pool.b, k_area / 4, 2);
  fill_bits<<<2048, 256>>>(pool.u, k_area / 4);
  check(cudaDeviceSynchronize(), "fill");
  for (const Plant& plant : plants()) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], plant.name) == 0;
    if (!wanted) continue;
    check(cudaProfilerStart(), "profiler");
    plant.launch(pool);
    check(cudaGetLastError(), plant.name);
    check(cudaDeviceSynchronize(), plant.name);
    check(cudaProfilerStop(), "profiler");
    std::printf("launched %s\n", plant.name);
  }
  return 0;
}
