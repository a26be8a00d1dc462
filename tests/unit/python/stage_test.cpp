// The real stage with workers whose interpreters take their time.
#include "base/time.hpp"
#include "evaluation/child_stage.hpp"
#include "python_bench.hpp"
#include "unit/device/scripted.hpp"

#include <gtest/gtest.h>

namespace ako {
namespace {

using fakes::axpb_triton;
using fakes::PythonBench;
using fakes::ScriptedGpu;
using model::Side;

/// The candidate's interpreter needs three seconds before it greets, the reference's next to none.
std::unique_ptr<evaluation::Stage> slow_stage(PythonBench& bench) {
  evaluation::ChildStageOptions options;
  bench.bench.contract.limits.load_seconds = bench.bench.contract.limits.build_seconds = 20;
  options.contract = &bench.bench.contract;
  options.task_dir = bench.task.path();
  options.device = bench.bench.device;
  options.reference = bench.options(axpb_triton()).spec;
  bench.environment["FAKE_TORCH"] = "slow";
  options.candidate = bench.options(axpb_triton("", "", "axpb[(1,)](x, y, n, num_warps=8)")).spec;
  auto stage = evaluation::make_child_stage(options);
  return stage ? std::move(*stage) : nullptr;
}

PythonBench scripted_bench() {
  return PythonBench::make(16, 1, PythonBench::Torch::fake, model::DeviceId{ScriptedGpu::k_uuid});
}

TEST(PythonStage, NobodyWaitsForASideThatIsNotAsked) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench();
  auto stage = slow_stage(bench);
  ASSERT_TRUE(stage);
  ASSERT_TRUE(stage->load(Side::reference));
  ASSERT_TRUE(stage->open(bench.bench.shape, 1, 0));
  ASSERT_TRUE(stage->call(Side::reference, 0, client::Function::call));
  const auto began = base::monotonic_ns();
  stage.reset();
  EXPECT_LT(base::monotonic_ns() - began, 2'000'000'000) << "it greets for three seconds";
}

TEST(PythonStage, BuffersMayComeAndGoWhileASideIsStillGreeting) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench();
  auto stage = slow_stage(bench);
  ASSERT_TRUE(stage);
  ASSERT_TRUE(stage->open(bench.bench.shape, 1, 0));
  ASSERT_TRUE(stage->open(bench.bench.shape, 1, 0));
  const auto loaded = stage->load(Side::candidate);
  ASSERT_TRUE(loaded) << loaded.error().text;
  const auto called = stage->call(Side::candidate, 0, client::Function::call);
  EXPECT_TRUE(called) << called.error().text;
}

} // namespace
} // namespace ako
