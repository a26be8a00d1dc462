// A library of the task called from a plain program, for profilers that look from outside:
//   nvcc -o plain plain_main.cu -ldl && ncu --clock-control none --cache-control none \
//     --metrics gpu__time_duration.sum ./plain LIBRARY.so ROWS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <dlfcn.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* library = dlopen(argv[1], RTLD_NOW);
  using Call = int (*)(void* const*, const std::int64_t*, const double*, void*);
  const auto call = library ? reinterpret_cast<Call>(dlsym(library, "ako_call")) : nullptr;
  if (!call) return 3;
  const std::int64_t integers[] = {std::atoll(argv[2]), 4096};
  const double scalars[] = {1e-5};
  void* tensors[3] = {};
  const std::size_t bytes[] = {static_cast<std::size_t>(integers[0]) * 8192, 8192,
                               static_cast<std::size_t>(integers[0]) * 8192};
  for (int i = 0; i < 3; ++i)
    if (cudaMalloc(&tensors[i], bytes[i]) != cudaSuccess || cudaMemset(tensors[i], 63, bytes[i]))
      return 4;
  for (int i = 0; i < 12; ++i)
    if (call(tensors, integers, scalars, nullptr) != 0) return 5;
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 6;
}
