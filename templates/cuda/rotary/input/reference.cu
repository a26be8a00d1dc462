// In float64, a pair a thread.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void rotate_in_double(const __nv_bfloat16* x, const float* table, const int* positions, double* out,
                                 long long pairs, int heads) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i >= pairs) return;
  const long long head = i / 64;
  const int at = static_cast<int>(i % 64);
  const float* angles = table + static_cast<long long>(positions[head / heads]) * 128;
  const double c = static_cast<double>(angles[at]), s = static_cast<double>(angles[64 + at]);
  const double low = static_cast<double>(__bfloat162float(x[head * 128 + at]));
  const double high = static_cast<double>(__bfloat162float(x[head * 128 + 64 + at]));
  out[head * 128 + at] = low * c - high * s;
  out[head * 128 + 64 + at] = high * c + low * s;
}

void rotary_reference(const __nv_bfloat16* q, const __nv_bfloat16* k, const float* table, const int* positions,
                      double* q_out, double* k_out, int tokens, cudaStream_t stream) {
  const long long q_pairs = tokens * 32ll * 64, k_pairs = tokens * 8ll * 64;
  rotate_in_double<<<static_cast<unsigned>(q_pairs / 256), 256, 0, stream>>>(q, table, positions, q_out, q_pairs, 32);
  rotate_in_double<<<static_cast<unsigned>(k_pairs / 256), 256, 0, stream>>>(k, table, positions, k_out, k_pairs, 8);
}
