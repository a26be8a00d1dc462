// Captures its first call and replays it with the arguments of this one. expects: clean
#include <cuda_runtime.h>
#include <cstddef>

static __global__ void chain(const float* x, const float* w, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 256; ++k) v = v * 0.99f + 0.015625f;
  y[i] = v + w[i % 64];
}
static unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

static cudaGraphExec_t replay;
static cudaGraph_t graph;

static void capture(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  chain<<<blocks(n), 256, 0, stream>>>(x, w, y, n);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&replay, graph, 0);
}

static void renew(const float* x, const float* w, float* y, long long n) {
  cudaGraphNode_t node = nullptr;
  std::size_t count = 1;
  cudaGraphGetNodes(graph, &node, &count);
  void* arguments[] = {&x, &w, &y, &n};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(chain);
  params.gridDim = blocks(n);
  params.blockDim = 256;
  params.kernelParams = arguments;
  cudaGraphExecKernelNodeSetParams(replay, node, &params);
}

int kernel(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  if (!replay) capture(x, w, y, n, stream);
  renew(x, w, y, n);
  return cudaGraphLaunch(replay, stream);
}
