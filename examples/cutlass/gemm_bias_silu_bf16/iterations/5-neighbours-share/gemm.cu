// Blocks that run together take tiles that lie together.
// cutlass >= 4.0
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/epilogue/thread/activation.h>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

namespace {

using namespace cute;

using Brain = cutlass::bfloat16_t;
using RowMajor = cutlass::layout::RowMajor;       // A, D: rows one after the other
using ColumnMajor = cutlass::layout::ColumnMajor; // B is stored as N rows of K
constexpr int k_aligned = 16 / sizeof(Brain);     // elements in what TMA moves at least

using Tile = Shape<_128, _256, _64>;
using Cluster = Shape<_2, _1, _1>;

// x / (1 + e^-x) through the special function unit: two instructions of it, where a division that
// rounds correctly takes a dozen. Where the divisor overflows the quotient is 0, as it should be.
template <class T> struct FastSilu;
template <> struct FastSilu<float> {
  CUTLASS_DEVICE float operator()(float x) const { return __fdividef(x, 1.0f + __expf(-x)); }
};
template <int N> struct FastSilu<cutlass::Array<float, N>> {
  CUTLASS_DEVICE cutlass::Array<float, N> operator()(const cutlass::Array<float, N>& x) const {
    cutlass::Array<float, N> y;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) y[i] = FastSilu<float>()(x[i]);
    return y;
  }
};

// silu(sum + bias of the column): the sums stay where the products left them, in registers.
namespace fusion = cutlass::epilogue::fusion;
constexpr auto k_round = cutlass::FloatRoundStyle::round_to_nearest;
using Biased =
    fusion::Sm90EVT<fusion::Sm90Compute<cutlass::plus, float, float, k_round>,
                    fusion::Sm90RowBroadcast<0, Tile, Brain, float>, fusion::Sm90AccFetch>;
using Fusion = fusion::Sm90EVT<fusion::Sm90Compute<FastSilu, Brain, float, k_round>, Biased>;

using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, RowMajor, k_aligned, Brain,
    RowMajor, k_aligned, cutlass::epilogue::TmaWarpSpecializedCooperative, Fusion>::CollectiveOp;

using Stages = cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
    sizeof(typename Epilogue::SharedStorage))>;

using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Brain, RowMajor, k_aligned, Brain,
    ColumnMajor, k_aligned, float, Tile, Cluster, Stages,
    cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;

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

typename Gemm::Arguments arguments_of(const Brain* a, const Brain* b, const Brain* bias, Brain* d,
                                      int rows, int columns, int depth) {
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {rows, columns, depth, 1},
      {a, {depth, _1{}, 0}, b, {depth, _1{}, 0}},
      {{}, nullptr, {columns, _1{}, 0}, d, {columns, _1{}, 0}},
      hardware()};
  arguments.epilogue.thread = {{{bias}, {}, {}}, {}}; // children first: bias, sums, plus; then silu
  // Blocks that run at the same time take tiles near one another: they share rows of A and of B in
  // the second-level cache.
  arguments.scheduler.max_swizzle_size = 8;
  return arguments;
}

} // namespace

/// Once a shape: the kernel's own word on whether it can do it.
cutlass::Status gemm_bias_silu_plan(const Brain* a, const Brain* b, const Brain* bias, Brain* d,
                                    int rows, int columns, int depth, cudaStream_t) {
  const auto arguments = arguments_of(a, b, bias, d, rows, columns, depth);
  // This scheduler needs none; one that does gets a tensor of role workspace.
  if (Gemm::get_workspace_size(arguments) > 0) return cutlass::Status::kErrorWorkspaceNull;
  return Gemm::can_implement(arguments);
}

cutlass::Status gemm_bias_silu(const Brain* a, const Brain* b, const Brain* bias, Brain* d, int rows,
                               int columns, int depth, cudaStream_t stream) {
  Gemm gemm;
  return gemm.run(arguments_of(a, b, bias, d, rows, columns, depth), nullptr, stream);
}
