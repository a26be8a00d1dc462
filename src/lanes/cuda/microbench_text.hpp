// The fixed part of the stand-alone microbench of the cuda lane.
#pragma once

namespace ako::lanes::cuda {

inline constexpr const char* k_microbench_text = R"bench(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

enum class Fill { normal, uniform, index, offsets, permutation };

struct Tensor {
  const char* name;
  const char* dtype;
  int bits;
  bool fresh;  // a copy of its own for every timed call; otherwise one for all
  bool filled; // read by the kernel
  Fill fill;
  double a, b; // normal: mean, deviation; uniform: low, high
};

struct Place {
  std::int64_t elements, align;
  double limit; // index, offsets, permutation
};

struct Case {
  const char* tag;
  double weight;
  std::vector<std::int64_t> integers;
  std::vector<double> scalars;
  std::vector<Place> places;
  double flops, bytes;
};

// Arguments that become what the kernel takes.
struct Pointer {
  void* p;
  template <class T> operator T*() const { return static_cast<T*>(p); }
};
template <class V> struct Number {
  V v;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> operator T() const {
    return static_cast<T>(v);
  }
};
using Integer = Number<std::int64_t>;
using Scalar = Number<double>;
template <class F, class... A> int status_of(F f, A... a) {
  if constexpr (std::is_void_v<decltype(f(a...))>) {
    f(a...);
    return 0;
  } else {
    return static_cast<int>(f(a...));
  }
}

using Call = int (*)(void* const* tensors, const std::int64_t* integers, const double* scalars,
                     void* stream);

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// Content: a hash of seed and place, shaped on the device.
__device__ inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

enum class Kind { f64, f32, bf16, f16, e4m3, e5m2, i64, i32, i16, i8, nibbles };

__global__ void fill_kernel(void* to, Kind kind, Fill fill, std::int64_t n, double a, double b,
                            double limit, std::uint64_t seed) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const std::uint64_t bits = mixed(seed * 0x100000001b3ull + static_cast<std::uint64_t>(i));
  const double u = static_cast<double>(bits >> 11) * 0x1p-53;
  const double v = static_cast<double>(mixed(bits) >> 11) * 0x1p-53;
  double value = a + (b - a) * u;
  if (fill == Fill::normal) value = a + b * sqrt(-2 * log(1 - u)) * cospi(2 * v);
  if (fill == Fill::index) value = floor(u * limit);
  if (fill == Fill::offsets) value = n > 1 ? floor(limit * static_cast<double>(i) / static_cast<double>(n - 1)) : 0;
  if (fill == Fill::permutation) value = static_cast<double>((i * 0x5bd1e995ll + 12345) % n);
  const auto whole = static_cast<long long>(value);
  switch (kind) {
  case Kind::f64: static_cast<double*>(to)[i] = value; break;
  case Kind::f32: static_cast<float*>(to)[i] = static_cast<float>(value); break;
  case Kind::bf16: static_cast<__nv_bfloat16*>(to)[i] = __double2bfloat16(value); break;
  case Kind::f16: static_cast<__half*>(to)[i] = __double2half(value); break;
  case Kind::e4m3: static_cast<__nv_fp8_e4m3*>(to)[i] = __nv_fp8_e4m3(value); break;
  case Kind::e5m2: static_cast<__nv_fp8_e5m2*>(to)[i] = __nv_fp8_e5m2(value); break;
  case Kind::i64: static_cast<long long*>(to)[i] = whole; break;
  case Kind::i32: static_cast<int*>(to)[i] = static_cast<int>(whole); break;
  case Kind::i16: static_cast<short*>(to)[i] = static_cast<short>(whole); break;
  case Kind::i8: static_cast<signed char*>(to)[i] = static_cast<signed char>(whole); break;
  case Kind::nibbles: if (i % 2 == 0) static_cast<unsigned char*>(to)[i / 2] = static_cast<unsigned char>(bits); break;
  }
}

inline Kind kind_of(const Tensor& t) {
  const std::string d = t.dtype;
  if (d == "float64") return Kind::f64;
  if (d == "float32") return Kind::f32;
  if (d == "bfloat16") return Kind::bf16;
  if (d == "float16") return Kind::f16;
  if (d == "float8_e4m3fn") return Kind::e4m3;
  if (d == "float8_e5m2") return Kind::e5m2;
  if (t.bits == 4) return Kind::nibbles;
  return t.bits == 64 ? Kind::i64 : t.bits == 32 ? Kind::i32 : t.bits == 16 ? Kind::i16 : Kind::i8;
}

// Reads twice the second-level cache and writes nothing: what it leaves behind is cold and clean.
__global__ void sweep_kernel(const uint4* from, std::int64_t n, unsigned* never) {
  unsigned sum = 0;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x)
    sum += from[i].x ^ from[i].w;
  if (sum == 0x5eed1234u) *never = sum;
}

// Holds the stream until the host has queued everything behind it.
__global__ void gate_kernel(volatile int* open) { while (*open == 0) {} }

struct Bench {
  cudaStream_t stream;
  uint4* sweep = nullptr;
  std::int64_t sweep_vectors = 0;
  unsigned* never = nullptr;
  int* gate = nullptr;
  Bench() {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    int device = 0, cache = 0;
    check(cudaGetDevice(&device), "device");
    check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device), "cache size");
    sweep_vectors = 2ll * cache / 16;
    check(cudaMalloc(&sweep, sweep_vectors * 16), "eviction buffer");
    check(cudaMemset(sweep, 1, sweep_vectors * 16), "eviction buffer");
    check(cudaMalloc(&never, 4), "eviction buffer");
    check(cudaHostAlloc(&gate, sizeof(int), cudaHostAllocMapped), "gate");
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device), "properties");
    std::printf("%s, %d MiB second-level cache\n", properties.name, cache >> 20);
  }
  void evict() { sweep_kernel<<<1024, 256, 0, stream>>>(sweep, sweep_vectors, never); }
};

// The buffers of one shape: every fresh tensor once per set, every other once.
struct Buffers {
  std::vector<void*> owned;
  std::vector<std::vector<void*>> sets;
  Buffers(const std::vector<Tensor>& tensors, const std::vector<Place>& places, int count) {
    for (int set = 0; set < count; ++set) {
      std::vector<void*> row;
      for (std::size_t i = 0; i < tensors.size(); ++i)
        row.push_back(set == 0 || tensors[i].fresh ? make(tensors[i], places[i], 1000 * i + set + 1) : sets[0][i]);
      sets.push_back(row);
    }
    check(cudaDeviceSynchronize(), "fill");
  }
  void* make(const Tensor& t, const Place& place, std::uint64_t seed) {
    void* data = nullptr;
    const std::size_t bytes = static_cast<std::size_t>((place.elements * t.bits + 7) / 8);
    check(cudaMalloc(&data, bytes + 256), t.name);
    check(cudaMemset(data, 0, bytes), t.name);
    if (t.filled && place.elements > 0)
      fill_kernel<<<static_cast<unsigned>((place.elements + 255) / 256), 256>>>(
          data, kind_of(t), t.fill, place.elements, t.a, t.b, place.limit, seed);
    owned.push_back(data);
    return data;
  }
  ~Buffers() { for (void* data : owned) cudaFree(data); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
};

inline double quantile(std::vector<float> times, double q) {
  std::sort(times.begin(), times.end());
  return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))] * 1e6;
}

inline void run_case(Bench& bench, const std::vector<Tensor>& tensors, const Case& c, bool cold,
                     Call call, Call prepare, Call plan) {
  double fresh_bytes = 1;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].fresh) fresh_bytes += static_cast<double>(c.places[i].elements) * tensors[i].bits / 8;
  const int count = static_cast<int>(std::clamp(4e9 / fresh_bytes, 2.0, 32.0));
  Buffers buffers(tensors, c.places, count);
  const auto once = [&](Call function, int set) {
    const int status = function(buffers.sets[set].data(), c.integers.data(), c.scalars.data(), bench.stream);
    if (status != 0) {
      std::fprintf(stderr, "%s: the kernel returned %d\n", c.tag, status);
      std::exit(1);
    }
    check(cudaGetLastError(), c.tag);
  };
  if (prepare != nullptr) once(prepare, 0);
  if (plan != nullptr) once(plan, 0);
  for (int set = 0; set < count; ++set) once(call, set); // first launches load code
  check(cudaStreamSynchronize(bench.stream), c.tag);
  std::vector<cudaEvent_t> begin(count), end(count);
  for (int set = 0; set < count; ++set) {
    check(cudaEventCreate(&begin[set]), "event");
    check(cudaEventCreate(&end[set]), "event");
  }
  std::vector<float> times;
  double spent = 0;
  for (int round = 0; round < 100 && (round < 5 || spent < 300); ++round) {
    *static_cast<volatile int*>(bench.gate) = 0;
    gate_kernel<<<1, 1, 0, bench.stream>>>(bench.gate);
    for (int set = 0; set < count; ++set) {
      if (cold) bench.evict();
      check(cudaEventRecord(begin[set], bench.stream), "event");
      once(call, set);
      check(cudaEventRecord(end[set], bench.stream), "event");
    }
    *static_cast<volatile int*>(bench.gate) = 1;
    check(cudaStreamSynchronize(bench.stream), c.tag);
    for (int set = 0; set < count; ++set) {
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin[set], end[set]), "event");
      times.push_back(ms);
      spent += ms;
    }
  }
  for (int set = 0; set < count; ++set) {
    cudaEventDestroy(begin[set]);
    cudaEventDestroy(end[set]);
  }
  const double median = quantile(times, 0.5);
  std::printf("%-20s %12.0f ns median %12.0f ns p95", c.tag, median, quantile(times, 0.95));
  if (c.bytes > 0) std::printf(" %8.1f GB/s", c.bytes / median);
  if (c.flops > 0) std::printf(" %9.1f Gflop/s", c.flops / median);
  std::printf("  (%zu calls, %d sets; events, queued behind a gate)\n", times.size(), count);
}

} // namespace bench
)bench";

} // namespace ako::lanes::cuda
