// Two blocks share B, and neighbours share the cache.
// cutlass >= 4.0
#include <cutlass/cutlass.h>
#include <cutlass/detail/blockwise_scale_layout.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

namespace {

using namespace cute;

using Small = cutlass::float_e4m3_t;
using Brain = cutlass::bfloat16_t;
using RowMajor = cutlass::layout::RowMajor;
using ColumnMajor = cutlass::layout::ColumnMajor; // fp8 operands are both contiguous along K
constexpr int k_small_aligned = 16, k_brain_aligned = 8;

using Tile = Shape<_128, _128, _128>; // K as deep as a block of scales
using Cluster = Shape<_2, _1, _1>;

// A: a scale for each row and 128 of K, rows contiguous. B: one for each 128 by 128, K contiguous.
using Scales =
    cutlass::detail::Sm90BlockwiseScaleConfig<1, 128, 128, GMMA::Major::MN, GMMA::Major::K>;
using ScalesA = decltype(Scales::deduce_layoutSFA());
using ScalesB = decltype(Scales::deduce_layoutSFB());

using Fusion = cutlass::epilogue::fusion::LinearCombination<Brain, float, void>;

using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, RowMajor, k_brain_aligned,
    Brain, RowMajor, k_brain_aligned, cutlass::epilogue::TmaWarpSpecializedCooperative,
    Fusion>::CollectiveOp;

using Stages = cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
    sizeof(typename Epilogue::SharedStorage))>;

using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Small, cute::tuple<RowMajor, ScalesA>,
    k_small_aligned, Small, cute::tuple<ColumnMajor, ScalesB>, k_small_aligned, float, Tile, Cluster,
    Stages, cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8Blockwise>::CollectiveOp;

using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue,
                                                    cutlass::gemm::PersistentScheduler>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

const cutlass::KernelHardwareInfo& hardware() {
  static const auto s_info = [] {
    cutlass::KernelHardwareInfo info;
    cudaGetDevice(&info.device_id);
    info.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(info.device_id);
    return info;
  }();
  return s_info;
}

typename Gemm::Arguments arguments_of(const Small* a, const float* scale_a, const Small* b,
                                      const float* scale_b, Brain* d, int rows, int columns,
                                      int depth) {
  const auto problem = make_shape(rows, columns, depth, 1);
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      problem,
      {a, {depth, _1{}, 0}, b, {depth, _1{}, 0}, scale_a, Scales::tile_atom_to_shape_SFA(problem),
       scale_b, Scales::tile_atom_to_shape_SFB(problem)},
      {{}, nullptr, {columns, _1{}, 0}, d, {columns, _1{}, 0}},
      hardware()};
  arguments.epilogue.thread.alpha = 1.0f;
  arguments.epilogue.thread.beta = 0.0f;
  arguments.scheduler.max_swizzle_size = 8; // neighbours in time are neighbours in D
  return arguments;
}

constexpr std::size_t k_workspace_bytes = 32u << 20; // as the contract declares it

} // namespace

/// Once a shape: the kernel's own word on whether it can do it, and in how much memory.
cutlass::Status gemm_fp8_plan(const Small* a, const float* scale_a, const Small* b,
                              const float* scale_b, Brain* d, void*, int rows, int columns,
                              int depth, cudaStream_t) {
  const auto arguments = arguments_of(a, scale_a, b, scale_b, d, rows, columns, depth);
  if (Gemm::get_workspace_size(arguments) > k_workspace_bytes)
    return cutlass::Status::kErrorWorkspaceNull;
  return Gemm::can_implement(arguments);
}

cutlass::Status gemm_fp8(const Small* a, const float* scale_a, const Small* b, const float* scale_b,
                         Brain* d, void* workspace, int rows, int columns, int depth,
                         cudaStream_t stream) {
  Gemm gemm;
  return gemm.run(arguments_of(a, scale_a, b, scale_b, d, rows, columns, depth), workspace, stream);
}
