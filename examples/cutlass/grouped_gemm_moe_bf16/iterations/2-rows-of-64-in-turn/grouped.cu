// Tiles of 64 rows, a warpgroup each, in turn: experts of few rows waste less of a tile.
// cutlass >= 4.0
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/group_array_problem_shape.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

namespace {

using namespace cute;

using Brain = cutlass::bfloat16_t;
using RowMajor = cutlass::layout::RowMajor;
using ColumnMajor = cutlass::layout::ColumnMajor; // B is stored as N rows of K for each expert
constexpr int k_aligned = 16 / sizeof(Brain);

using Tile = Shape<_64, _256, _64>;
using Cluster = Shape<_1, _1, _1>;
using Groups = cutlass::gemm::GroupProblemShape<Shape<int, int, int>>;
using Fusion = cutlass::epilogue::fusion::LinearCombination<Brain, float, void>;

// A pointer to a layout's tag is an array of strides, one for each group.
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, RowMajor*, k_aligned, Brain,
    RowMajor*, k_aligned, cutlass::epilogue::PtrArrayTmaWarpSpecializedPingpong,
    Fusion>::CollectiveOp;

using Stages = cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
    sizeof(typename Epilogue::SharedStorage))>;

using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Brain, RowMajor*, k_aligned, Brain,
    ColumnMajor*, k_aligned, float, Tile, Cluster, Stages,
    cutlass::gemm::KernelPtrArrayTmaWarpSpecializedPingpong>::CollectiveOp;

using Kernel = cutlass::gemm::kernel::GemmUniversal<Groups, Mainloop, Epilogue>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
using StrideA = typename Kernel::InternalStrideA;
using StrideB = typename Kernel::InternalStrideB;
using StrideD = typename Kernel::InternalStrideD;

/// What the kernel reads for each group, one array after the other at the workspace's start.
struct Arrays {
  typename Groups::UnderlyingProblemShape* problems;
  const Brain** a;
  const Brain** b;
  Brain** d;
  StrideA* stride_a;
  StrideB* stride_b;
  StrideD* stride_d;
  char* rest; ///< CUTLASS' own workspace
};

Arrays arrays_in(void* workspace, int experts) {
  char* at = static_cast<char*>(workspace);
  const auto take = [&](auto*& array) {
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(at);
    at += (experts * sizeof(*array) + 127) / 128 * 128;
  };
  Arrays arrays;
  take(arrays.problems), take(arrays.a), take(arrays.b), take(arrays.d);
  take(arrays.stride_a), take(arrays.stride_b), take(arrays.stride_d);
  arrays.rest = at;
  return arrays;
}

/// The counts are on the device, and so is what follows from them.
__global__ void describe_groups(Arrays arrays, const Brain* a, const Brain* b, const int* offsets,
                                Brain* d, int experts, int columns, int depth) {
  const int expert = threadIdx.x;
  if (expert >= experts) return;
  const int64_t begin = offsets[expert];
  arrays.problems[expert] = make_shape(offsets[expert + 1] - offsets[expert], columns, depth);
  arrays.a[expert] = a + begin * depth;
  arrays.b[expert] = b + static_cast<int64_t>(expert) * columns * depth;
  arrays.d[expert] = d + begin * columns;
  get<0>(arrays.stride_a[expert]) = depth;
  get<0>(arrays.stride_b[expert]) = depth;
  get<0>(arrays.stride_d[expert]) = columns;
}

const cutlass::KernelHardwareInfo& hardware() {
  static const auto s_info = [] {
    cutlass::KernelHardwareInfo info;
    cudaGetDevice(&info.device_id);
    info.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(info.device_id);
    return info;
  }();
  return s_info;
}

typename Gemm::Arguments arguments_of(const Arrays& arrays, int experts) {
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGrouped,
      {experts, arrays.problems, nullptr},
      {arrays.a, arrays.stride_a, arrays.b, arrays.stride_b},
      {{}, nullptr, nullptr, arrays.d, arrays.stride_d},
      hardware()};
  arguments.epilogue.thread.alpha = 1.0f;
  arguments.epilogue.thread.beta = 0.0f;
  return arguments;
}

constexpr std::size_t k_workspace_bytes = 1u << 20; // as the contract declares it

} // namespace

/// Once a shape: the kernel's own word on whether it can do it, and in how much memory.
cutlass::Status grouped_gemm_plan(const Brain*, const Brain*, const int*, Brain*, void* workspace,
                                  int, int experts, int, int, cudaStream_t) {
  const Arrays arrays = arrays_in(workspace, experts);
  const auto arguments = arguments_of(arrays, experts);
  const std::size_t used = arrays.rest - static_cast<char*>(workspace);
  if (used + Gemm::get_workspace_size(arguments) > k_workspace_bytes)
    return cutlass::Status::kErrorWorkspaceNull;
  return Gemm::can_implement(arguments);
}

cutlass::Status grouped_gemm(const Brain* a, const Brain* b, const int* offsets, Brain* d,
                             void* workspace, int, int experts, int columns, int depth,
                             cudaStream_t stream) {
  if (experts > 1024) return cutlass::Status::kErrorInvalidProblem; // one block describes them
  const Arrays arrays = arrays_in(workspace, experts);
  describe_groups<<<1, (experts + 31) / 32 * 32, 0, stream>>>(arrays, a, b, offsets, d, experts,
                                                              columns, depth);
  Gemm gemm;
  return gemm.run(arguments_of(arrays, experts), arrays.rest, stream);
}
