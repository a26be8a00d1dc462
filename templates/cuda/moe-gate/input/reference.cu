// A thread a token: eight sweeps over the logits, weights in float64.
#include <cuda_runtime.h>

__global__ void gate_in_double(const float* logits, double* weights, int* ids, int tokens) {
  const int token = blockIdx.x * blockDim.x + threadIdx.x;
  if (token >= tokens) return;
  const float* row = logits + token * 256ll;
  int chosen[8];
  for (int k = 0; k < 8; ++k) {
    int best = -1;
    for (int e = 0; e < 256; ++e) {
      bool taken = false;
      for (int j = 0; j < k; ++j) taken = taken || chosen[j] == e;
      if (!taken && (best < 0 || row[e] > row[best])) best = e;
    }
    chosen[k] = best;
  }
  double sum = 0;
  for (int k = 0; k < 8; ++k) sum += exp(static_cast<double>(row[chosen[k]]) - static_cast<double>(row[chosen[0]]));
  for (int k = 0; k < 8; ++k) {
    ids[token * 8ll + k] = chosen[k];
    weights[token * 8ll + k] = exp(static_cast<double>(row[chosen[k]]) - static_cast<double>(row[chosen[0]])) / sum;
  }
}

void moe_gate_reference(const float* logits, double* weights, int* ids, int tokens, cudaStream_t stream) {
  gate_in_double<<<(tokens + 127) / 128, 128, 0, stream>>>(logits, weights, ids, tokens);
}
