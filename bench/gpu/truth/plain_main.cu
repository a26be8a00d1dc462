// The kernels of kernels.cuh by other clocks than ako's, each in the two cache states that ako
// knows: warm (the input has just been read) and cold-clean (a buffer much larger than the L2 has
// just been read).
//   plain states REPEATS KIND N M [KIND N M...]   only launches, for a profiler to look at: REPEATS
//   warm ones, then REPEATS cold ones plain clocks REPEATS KIND N M [KIND N M...]   one JSON line a
//   kernel: microseconds by queued events, by events behind a kernel
//                                                 that spins, by a graph of 100, all with warm
//                                                 caches, as they are commonly used
// Built as a library (-DLIBRARY) it exports truth_call for whoever times from Python.
#include "kernels.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" int truth_call(const float* x, float* y, long long kind, long long n, long long m,
                          void* stream) {
  return truth::launch<float>(x, y, kind, n, m, static_cast<cudaStream_t>(stream));
}

#ifndef LIBRARY
namespace {

constexpr int k_sets = 3;
constexpr long long k_sweep = 512ll << 20; // bytes; ten times an H200's L2

void must(cudaError_t code, int line) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "plain_main.cu:%d: %s\n", line, cudaGetErrorString(code));
  std::exit(1);
}
#define MUST(call) must((call), __LINE__)

__global__ void read_all(const uint4* from, long long count, unsigned* sink) {
  unsigned seen = 0;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count;
       i += (long long)gridDim.x * blockDim.x) {
    const uint4 v = from[i];
    seen ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (seen == 0x9e3779b9u) *sink = seen;
}
__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}
__global__ void fill(float* x, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
       i += (long long)gridDim.x * blockDim.x)
    x[i] = static_cast<float>((i * 2654435761ll & 0xffff) - 32768) / 32768.f;
}

struct Case {
  long long kind, n, m;
  float* x[k_sets];
  float* y[k_sets];
  void make() {
    for (int i = 0; i < k_sets; ++i) {
      MUST(cudaMalloc(&x[i], n * 4));
      MUST(cudaMalloc(&y[i], m * 4));
      fill<<<1024, 256>>>(x[i], n);
    }
    MUST(cudaDeviceSynchronize());
  }
  void drop() {
    for (int i = 0; i < k_sets; ++i) {
      MUST(cudaFree(x[i]));
      MUST(cudaFree(y[i]));
    }
  }
  void call(int set, cudaStream_t stream) const {
    MUST(static_cast<cudaError_t>(truth_call(x[set], y[set], kind, n, m, stream)));
  }
};

float median(std::vector<float> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void states(const Case& c, int repeats, const uint4* sweep, unsigned* sink) {
  for (const bool cold : {false, true})
    for (int i = 0; i < repeats; ++i) {
      if (cold) read_all<<<1056, 256>>>(sweep, k_sweep / 16, sink);
      else read_all<<<1056, 256>>>(reinterpret_cast<const uint4*>(c.x[i % k_sets]), c.n / 4, sink);
      c.call(i % k_sets, nullptr);
      MUST(cudaDeviceSynchronize());
    }
}

/// Each call between two events; SPINNING behind a kernel that keeps the device until all are
/// queued.
float by_events(const Case& c, int repeats, bool spinning, cudaStream_t stream) {
  std::vector<cudaEvent_t> events(2 * repeats);
  for (auto& event : events) MUST(cudaEventCreate(&event));
  for (int i = 0; i < 5; ++i) c.call(0, stream);
  MUST(cudaStreamSynchronize(stream));
  if (spinning) spin<<<1, 1, 0, stream>>>(4000000);
  for (int i = 0; i < repeats; ++i) {
    MUST(cudaEventRecord(events[2 * i], stream));
    c.call(0, stream);
    MUST(cudaEventRecord(events[2 * i + 1], stream));
  }
  MUST(cudaStreamSynchronize(stream));
  std::vector<float> us(repeats);
  for (int i = 0; i < repeats; ++i) {
    MUST(cudaEventElapsedTime(&us[i], events[2 * i], events[2 * i + 1]));
    us[i] *= 1000;
  }
  for (auto& event : events) MUST(cudaEventDestroy(event));
  return median(us);
}

float by_graph(const Case& c, int repeats, cudaStream_t stream) {
  constexpr int k_calls = 100;
  cudaGraph_t graph;
  cudaGraphExec_t run;
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < k_calls; ++i) c.call(0, stream);
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiate(&run, graph, 0));
  cudaEvent_t begin, end;
  MUST(cudaEventCreate(&begin));
  MUST(cudaEventCreate(&end));
  std::vector<float> us;
  for (int i = 0; i < std::max(3, repeats / 10); ++i) {
    MUST(cudaEventRecord(begin, stream));
    MUST(cudaGraphLaunch(run, stream));
    MUST(cudaEventRecord(end, stream));
    MUST(cudaStreamSynchronize(stream));
    float ms = 0;
    MUST(cudaEventElapsedTime(&ms, begin, end));
    us.push_back(ms * 1000 / k_calls);
  }
  MUST(cudaGraphExecDestroy(run));
  MUST(cudaGraphDestroy(graph));
  return median(us);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 6 || (argc - 3) % 3 != 0)
    return std::fprintf(stderr, "plain states|clocks REPEATS KIND N M...\n"), 2;
  const bool clocks = std::strcmp(argv[1], "clocks") == 0;
  const int repeats = std::atoi(argv[2]);
  uint4* sweep;
  unsigned* sink;
  cudaStream_t stream;
  MUST(cudaMalloc(&sweep, k_sweep));
  MUST(cudaMalloc(&sink, 4));
  MUST(cudaMemset(sweep, 1, k_sweep));
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 3; i < argc; i += 3) {
    Case c{std::atoll(argv[i]), std::atoll(argv[i + 1]), std::atoll(argv[i + 2]), {}, {}};
    c.make();
    if (clocks)
      std::printf("{\"queued_events\": %.3f, \"events_behind_spin\": %.3f, \"graph_100\": %.3f}\n",
                  by_events(c, repeats, false, stream), by_events(c, repeats, true, stream),
                  by_graph(c, repeats, stream));
    else states(c, repeats, sweep, sink);
    c.drop();
  }
  return 0;
}
#endif
