// cuBLASLt's integer product, then scales and bias by a kernel of its own.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

__global__ void scale_and_shift(const int* sums, const float* scale_a, const float* scale_b,
                                const __nv_bfloat16* bias, __nv_bfloat16* d, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= columns) return;
  d[row * columns + column] =
      __float2bfloat16(static_cast<float>(sums[row * columns + column]) * scale_a[row] *
                           scale_b[column] +
                       __bfloat162float(bias[column]));
}

namespace {

constexpr size_t k_workspace_bytes = 32u << 20;

struct Library {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm;
  int* sums = nullptr;
  void* workspace = nullptr;
  bool ready = false;
};

/// Row-major D = A B^T is column-major D^T = B A^T: columns by rows.
Library make_library(int rows, int columns, int depth) {
  Library made;
  if (cublasLtCreate(&made.handle) != CUBLAS_STATUS_SUCCESS) return made;
  if (cudaMalloc(&made.sums, static_cast<size_t>(rows) * columns * sizeof(int)) != cudaSuccess ||
      cudaMalloc(&made.workspace, k_workspace_bytes) != cudaSuccess)
    return made;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  cublasLtMatmulDescCreate(&made.operation, CUBLAS_COMPUTE_32I, CUDA_R_32I);
  cublasLtMatmulDescSetAttribute(made.operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                 sizeof transposed);
  cublasLtMatrixLayoutCreate(&made.b, CUDA_R_8I, depth, columns, depth);
  cublasLtMatrixLayoutCreate(&made.a, CUDA_R_8I, depth, rows, depth);
  cublasLtMatrixLayoutCreate(&made.d, CUDA_R_32I, columns, rows, columns);
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulPreferenceCreate(&preference);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &k_workspace_bytes, sizeof k_workspace_bytes);
  cublasLtMatmulHeuristicResult_t result = {};
  int count = 0;
  cublasLtMatmulAlgoGetHeuristic(made.handle, made.operation, made.b, made.a, made.d, made.d,
                                 preference, 1, &result, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  made.algorithm = result.algo;
  made.ready = count == 1;
  return made;
}

} // namespace

cudaError_t scaled_mm(const int8_t* a, const int8_t* b, const float* scale_a, const float* scale_b,
                      const __nv_bfloat16* bias, __nv_bfloat16* d, int rows, int columns, int depth,
                      cudaStream_t stream) {
  static Library s_library = make_library(rows, columns, depth); // sizes are the contract's constants
  if (!s_library.ready) return cudaErrorNotSupported;
  const int one = 1, zero = 0;
  if (cublasLtMatmul(s_library.handle, s_library.operation, &one, b, s_library.b, a, s_library.a,
                     &zero, s_library.sums, s_library.d, s_library.sums, s_library.d,
                     &s_library.algorithm, s_library.workspace, k_workspace_bytes,
                     stream) != CUBLAS_STATUS_SUCCESS)
    return cudaErrorUnknown;
  scale_and_shift<<<dim3((columns + 255) / 256, rows), 256, 0, stream>>>(
      s_library.sums, scale_a, scale_b, bias, d, columns);
  return cudaGetLastError();
}
