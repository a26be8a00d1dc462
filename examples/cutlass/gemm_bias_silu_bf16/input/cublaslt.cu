// cuBLASLt with its bias epilogue, then SiLU in place by a kernel of its own.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <map>

__global__ void silu_in_place(__nv_bfloat162* d, long long pairs) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i >= pairs) return;
  const float2 x = __bfloat1622float2(d[i]);
  d[i] = __floats2bfloat162_rn(x.x / (1.0f + __expf(-x.x)), x.y / (1.0f + __expf(-x.y)));
}

namespace {

constexpr size_t k_workspace_bytes = 32u << 20;

/// What stays the same from call to call of one size.
struct Plan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm;
  bool found = false;
};

cublasLtHandle_t handle() {
  static cublasLtHandle_t s_handle = [] {
    cublasLtHandle_t made = nullptr;
    return cublasLtCreate(&made) == CUBLAS_STATUS_SUCCESS ? made : nullptr;
  }();
  return s_handle;
}

void* workspace() {
  static void* s_workspace = [] {
    void* made = nullptr;
    return cudaMalloc(&made, k_workspace_bytes) == cudaSuccess ? made : nullptr;
  }();
  return s_workspace;
}

/// Row-major D = A B^T is column-major D^T = B A^T: columns by rows.
Plan make_plan(int rows, int columns, int depth) {
  Plan plan;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
  const cudaDataType_t type = CUDA_R_16BF;
  cublasLtMatmulDescCreate(&plan.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const auto set = [&](cublasLtMatmulDescAttributes_t what, const auto& value) {
    cublasLtMatmulDescSetAttribute(plan.operation, what, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
  cublasLtMatrixLayoutCreate(&plan.b, type, depth, columns, depth);
  cublasLtMatrixLayoutCreate(&plan.a, type, depth, rows, depth);
  cublasLtMatrixLayoutCreate(&plan.d, type, columns, rows, columns);
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulPreferenceCreate(&preference);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &k_workspace_bytes, sizeof k_workspace_bytes);
  cublasLtMatmulHeuristicResult_t result = {};
  int count = 0;
  cublasLtMatmulAlgoGetHeuristic(handle(), plan.operation, plan.b, plan.a, plan.d, plan.d,
                                 preference, 1, &result, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  plan.found = count == 1;
  plan.algorithm = result.algo;
  return plan;
}

} // namespace

cudaError_t gemm_bias_silu(const __nv_bfloat16* a, const __nv_bfloat16* b,
                           const __nv_bfloat16* bias, __nv_bfloat16* d, int rows, int columns,
                           int depth, cudaStream_t stream) {
  static std::map<int, Plan> s_plans; // columns and depth are constants of the contract
  if (handle() == nullptr || workspace() == nullptr) return cudaErrorInitializationError;
  auto known = s_plans.find(rows);
  if (known == s_plans.end()) known = s_plans.emplace(rows, make_plan(rows, columns, depth)).first;
  Plan& plan = known->second;
  if (!plan.found) return cudaErrorNotSupported;
  cublasLtMatmulDescSetAttribute(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                 sizeof bias);
  const float one = 1, zero = 0;
  if (cublasLtMatmul(handle(), plan.operation, &one, b, plan.b, a, plan.a, &zero, d, plan.d, d,
                     plan.d, &plan.algorithm, workspace(), k_workspace_bytes,
                     stream) != CUBLAS_STATUS_SUCCESS)
    return cudaErrorUnknown;
  const long long pairs = static_cast<long long>(rows) * columns / 2;
  silu_in_place<<<static_cast<unsigned>((pairs + 255) / 256), 256, 0, stream>>>(
      reinterpret_cast<__nv_bfloat162*>(d), pairs);
  return cudaGetLastError();
}
