// Real kernels from below one microsecond to ten milliseconds, for holding clocks against each
// other. Each reads x (float32, N elements) and writes all of y (M elements); T is float, or double
// for the reference. Names begin with case_, so that a profiler can be told to look at them alone.
#pragma once
#include <cuda_runtime.h>

namespace truth {

constexpr int k_row = 4096;

template <class T> __device__ T block_sum(T value) {
  __shared__ T parts[32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : T(0);
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  __syncthreads();
  return value;
}

template <class T> __global__ void case_map(const float* x, T* y, long long n, T by) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
       i += (long long)gridDim.x * blockDim.x)
    y[i] = by * x[i] + T(1);
}
template <class T> __global__ void case_map_again(const T* x, T* y, long long n, T by) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = by * x[i] + T(1);
}
template <class T> __global__ void case_fused(const float* x, T* y, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = T(2) * (T(2) * (T(2) * x[i] + T(1)) + T(1)) + T(1);
}
template <class T> __global__ void case_rmsnorm(const float* x, T* y) {
  const float* row = x + blockIdx.x * (long long)k_row;
  T sum = 0;
  for (int i = threadIdx.x; i < k_row; i += blockDim.x) sum += T(row[i]) * T(row[i]);
  const T scale = T(1) / sqrt(block_sum(sum) / T(k_row) + T(1e-5));
  for (int i = threadIdx.x; i < k_row; i += blockDim.x)
    y[blockIdx.x * (long long)k_row + i] = T(row[i]) * scale;
}
template <class T> __global__ void case_softmax(const float* x, T* y) {
  const float* row = x + blockIdx.x * (long long)k_row;
  T sum = 0; // contents lie in (-1, 1): no row needs its maximum taken off
  for (int i = threadIdx.x; i < k_row; i += blockDim.x) sum += exp(T(row[i]));
  const T scale = T(1) / block_sum(sum);
  for (int i = threadIdx.x; i < k_row; i += blockDim.x)
    y[blockIdx.x * (long long)k_row + i] = exp(T(row[i])) * scale;
}
template <class T> __global__ void case_row_sum(const float* x, T* y) {
  T sum = 0;
  for (int i = threadIdx.x; i < k_row; i += blockDim.x)
    sum += T(x[blockIdx.x * (long long)k_row + i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
template <class T> __global__ void case_transpose(const float* x, T* y, int side) {
  __shared__ float tile[32][33];
  const int column = blockIdx.x * 32, row = blockIdx.y * 32;
  for (int i = threadIdx.y; i < 32; i += 8)
    tile[i][threadIdx.x] = x[(row + i) * (long long)side + column + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8)
    y[(column + i) * (long long)side + row + threadIdx.x] = T(tile[threadIdx.x][i]);
}
template <class T> __global__ void case_gather(const float* x, T* y, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = T(x[(unsigned long long)i * 2654435761ull % (unsigned long long)n]);
}
template <class T> __global__ void case_stencil(const float* x, T* y, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  T sum = 0;
  for (int k = -3; k <= 3; ++k) sum += T(x[(i + k + n) % n]);
  y[i] = sum;
}
// x holds two square matrices.
template <class T> __global__ void case_product(const float* x, T* y, int side) {
  __shared__ float a[32][32], b[32][32];
  const float* other = x + (long long)side * side;
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  T sum = 0;
  for (int at = 0; at < side; at += 32) {
    a[threadIdx.y][threadIdx.x] = x[row * (long long)side + at + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = other[(at + threadIdx.y) * (long long)side + column];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += T(a[threadIdx.y][k]) * T(b[k][threadIdx.x]);
    __syncthreads();
  }
  y[row * (long long)side + column] = sum;
}

inline unsigned blocks(long long n) { return static_cast<unsigned>((n + 255) / 256); }

/// Launches what KIND names; the numbers are the contract's (task.toml).
template <class T>
cudaError_t launch(const float* x, T* y, long long kind, long long n, long long m,
                   cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(n / k_row);
  int side = 1;
  while ((long long)side * side < m) ++side;
  const dim3 tiles(side / 32, side / 32);
  const unsigned threads = n < 256 ? 32 : 256, few = n < 256         ? 1
                                                     : n > (1 << 24) ? 132 * 16
                                                                     : blocks(n);
  switch (kind) {
  case 1: case_map<T><<<few, threads, 0, stream>>>(x, y, n, T(2)); break;
  case 2: case_rmsnorm<T><<<rows, 512, 0, stream>>>(x, y); break;
  case 3: case_softmax<T><<<rows, 512, 0, stream>>>(x, y); break;
  case 4: case_row_sum<T><<<rows, 512, 0, stream>>>(x, y); break;
  case 5: case_transpose<T><<<tiles, dim3(32, 8), 0, stream>>>(x, y, side); break;
  case 6: case_gather<T><<<blocks(n), 256, 0, stream>>>(x, y, n); break;
  case 7: case_stencil<T><<<blocks(n), 256, 0, stream>>>(x, y, n); break;
  case 8: case_product<T><<<tiles, dim3(32, 32), 0, stream>>>(x, y, side); break;
  case 9:
    case_map<T><<<blocks(n), 256, 0, stream>>>(x, y, n, T(2));
    case_map_again<T><<<blocks(n), 256, 0, stream>>>(y, y, n, T(2));
    case_map_again<T><<<blocks(n), 256, 0, stream>>>(y, y, n, T(2));
    break;
  case 10: case_fused<T><<<blocks(n), 256, 0, stream>>>(x, y, n); break;
  default: return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

} // namespace truth
