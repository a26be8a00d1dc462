// A host function of the stream wakes a thread that does the work in its own stream. expects: incorrect or suspect
#include <cuda_runtime.h>
#include <atomic>
#include <thread>
#include <unistd.h>

static __global__ void chain(const float* x, const float* w, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 256; ++k) v = v * 0.99f + 0.015625f;
  y[i] = v + w[i % 64];
}
static unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

struct Job {
  const float *x, *w;
  float* y;
  long long n;
};
static Job jobs[1024];
static std::atomic<unsigned> asked{0};

static void serve() {
  cudaStream_t own = nullptr;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  for (unsigned done = 0;; ++done) {
    while (asked.load() == done) usleep(20);
    const Job& job = jobs[done % 1024];
    chain<<<blocks(job.n), 256, 0, own>>>(job.x, job.w, job.y, job.n);
  }
}
static void CUDART_CB ask(void*) { ++asked; }

int kernel(const float* x, const float* w, float* y, long long n, cudaStream_t stream) {
  static bool started = false;
  if (!started) std::thread(serve).detach();
  started = true;
  static unsigned next = 0;
  jobs[next++ % 1024] = {x, w, y, n};
  return cudaLaunchHostFunc(stream, ask, nullptr);
}
