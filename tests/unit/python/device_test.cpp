// The worker in Python with a device: torch and Triton are stand-ins, their kernels run on the
// scripted driver.
#include "python_bench.hpp"
#include "unit/device/scripted.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako {
namespace {

using client::FailureKind;
using fakes::axpb_triton;
using fakes::PythonBench;
using fakes::ScriptedGpu;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

#define ASSERT_OK(answer) ASSERT_TRUE(answer) << (answer).error().text

PythonBench scripted_bench(std::int64_t n, int sets) {
  return PythonBench::make(n, sets, PythonBench::Torch::fake, model::DeviceId{ScriptedGpu::k_uuid});
}

std::int64_t wrong(PythonBench& bench, int set) {
  for (int tensor : {0, 1})
    if (!bench.bench.keeper.read(*bench.bench.arena, tensor, set)) return -1;
  return bench.bench.wrong_elements(set);
}

TEST(PythonDevice, ALaunchGoesIntoTheStreamAndIsTimedThere) {
  const ScriptedGpu gpu("duration axpb 1500 1600 1700");
  auto bench = scripted_bench(64, 4);
  auto worker = bench.worker(axpb_triton());
  ASSERT_OK(worker);
  client::SampleJob job;
  job.sets = {2, 0, 1};
  job.warmup_sets = {3};
  const auto report = worker->sample(job);
  ASSERT_OK(report);
  EXPECT_THAT(report->call_ns, testing::ElementsAre(1600, 1700, 1500));
  EXPECT_EQ(report->device["how"], "cupti");
  EXPECT_EQ(report->stray_operations, 0);
  EXPECT_THAT(report->changed, IsEmpty());
  for (int set = 0; set < 4; ++set) EXPECT_EQ(wrong(bench, set), 0) << set;
}

TEST(PythonDevice, WhatWasCompiledIsToldOnceAndKept) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 2);
  auto worker = bench.worker(axpb_triton("", "", "axpb[(1,)](x, y, n, num_warps=8)"));
  ASSERT_OK(worker);
  const auto first = worker->call(0);
  ASSERT_OK(first);
  ASSERT_EQ(first->guest["compiled"].size(), 1u);
  const auto& kernel = first->guest["compiled"][0];
  EXPECT_EQ(kernel["kernel"], "axpb");
  EXPECT_EQ(kernel["warps"], 8);
  EXPECT_EQ(kernel["registers"], 40);
  EXPECT_EQ(kernel["shared_bytes"], 2048);
  EXPECT_TRUE(std::filesystem::exists(bench.task.path() / "kept" /
                                      kernel["cubin_file"].get<std::string>()));
  EXPECT_GT(first->guest["first_call_ns"].get<std::int64_t>(), 0);
  const auto second = worker->call(1);
  ASSERT_OK(second);
  EXPECT_TRUE(second->guest.empty());
}

TEST(PythonDevice, TheChoiceOfTheTunerIsToldAndStays) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 2);
  const std::string tuned = axpb_triton("", "", "tuned[(1,)](x, y, n)") +
                            R"(
tuned = triton.autotune([triton.Config({}, num_warps=2), triton.Config({}, num_warps=4)], key=["n"])(axpb)
)";
  auto worker = bench.worker(tuned);
  ASSERT_OK(worker);
  const auto first = worker->call(0);
  ASSERT_OK(first);
  ASSERT_EQ(first->guest["tuned"].size(), 1u);
  EXPECT_EQ(first->guest["tuned"][0]["config"]["num_warps"], 4);
  EXPECT_EQ(first->guest["tuned"][0]["of"], 2);
  EXPECT_EQ(first->guest["compiled"].size(), 2u);
  client::SampleJob job;
  job.sets = {1};
  job.warmup_sets = {0};
  const auto report = worker->sample(job);
  ASSERT_OK(report);
  EXPECT_TRUE(report->guest.empty()) << "nothing is tuned inside the samples";
  EXPECT_EQ(wrong(bench, 1), 0);
}

TEST(PythonDevice, AnotherStreamIsStrayAndIsPutBack) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 3);
  auto worker =
      bench.worker(axpb_triton("torch.cuda.set_stream(own)", "own = torch.cuda.Stream()"));
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_OK(called);
  EXPECT_THAT(called->changed, Contains("torch.current_stream"));
  client::SampleJob job;
  job.sets = {1};
  job.warmup_sets = {2};
  const auto report = worker->sample(job);
  ASSERT_OK(report);
  EXPECT_GT(report->stray_operations, 0);
}

TEST(PythonDevice, TorchThatCannotBeUsedIsTheMachines) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 1);
  const auto text_with = [&](const std::string& trouble) {
    bench.environment["FAKE_TORCH"] = trouble;
    const auto loaded = bench.load(axpb_triton());
    if (loaded) return std::string("it was loaded");
    EXPECT_EQ(loaded.error().kind, FailureKind::environment);
    return loaded.error().text;
  };
  EXPECT_THAT(text_with("no_cuda"), HasSubstr("was built without CUDA"));
  const auto other = text_with("driver");
  EXPECT_THAT(other, HasSubstr("built for CUDA 13.0"));
  EXPECT_THAT(other, HasSubstr("driver on your system is too old"));
}

TEST(PythonDevice, WhatTorchTakesForItselfLiesBesideTheBuffers) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 1);
  bench.environment["FAKE_TORCH"] = "greedy";
  auto worker = bench.worker(axpb_triton());
  ASSERT_OK(worker);
  ASSERT_OK(worker->call(0));
  EXPECT_EQ(wrong(bench, 0), 0);
}

TEST(PythonDevice, WhatDoesNotCompileIsABuildThatFailed) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 1);
  auto worker = bench.worker(axpb_triton("axpb.fn._does_not_compile = 'at 3:4: no such op'"));
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, FailureKind::compile_failed);
  EXPECT_THAT(called.error().text, HasSubstr("no such op"));
}

TEST(PythonDevice, AHangInTheFirstCallSaysThatItMayCompile) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 1);
  bench.call_seconds = 0.5;
  auto options = bench.options(axpb_triton("while True: pass"));
  options.limits.build_seconds = 1;
  auto worker = bench.bench.prepare(options);
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, FailureKind::hung);
  EXPECT_THAT(called.error().text, HasSubstr("may compile and tune"));
}

TEST(PythonDevice, AForkIsNamed) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 1);
  auto worker = bench.worker(axpb_triton("import os; os.waitpid(os.fork(), 0)"));
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_OK(called);
  EXPECT_THAT(called->changed, Contains("forked"));
}

TEST(PythonDevice, ReturnedTensorsAreNamedByWhatTheyAre) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 1);
  const auto returned = [&](const std::string& value) {
    auto worker = bench.worker(axpb_triton("", "class Lazy(torch.Tensor):\n    pass\n",
                                           "axpb[(1,)](x, y, n)\n    return " + value));
    if (!worker) return worker.error().text;
    const auto called = worker->call(0);
    return called ? std::string("ok") : called.error().text;
  };
  EXPECT_EQ(returned("y"), "ok");
  EXPECT_EQ(returned("None"), "ok");
  EXPECT_THAT(returned("torch.empty_like(y)"),
              HasSubstr("a new tensor (torch.Tensor float32 [16]"));
  EXPECT_THAT(returned("torch.empty(16, dtype=torch.float16)"), HasSubstr("dtype float16"));
  EXPECT_THAT(returned("torch.empty(16)"), HasSubstr("device cpu instead of cuda:0"));
  EXPECT_THAT(returned("torch.empty(4, 4)"), HasSubstr("shape [4, 4] instead of [16]"));
  EXPECT_THAT(returned("y.as_strided((8,), (2,))"), HasSubstr("a view of \"y\""));
  EXPECT_THAT(returned("y.as_strided((16,), (2,))"), HasSubstr("strides [2] instead of [1]"));
  EXPECT_THAT(returned("Lazy(0, y.dtype, y.shape, (1,), y.device)"), HasSubstr("no torch.Tensor"));
}

TEST(PythonDevice, AReferenceReturnsItsAnswerInExactMath) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 1);
  bench.role = lanes::Role::reference;
  const auto text = axpb_triton("", "", R"(z = torch.empty_like(y)
    for i in range(n): z[i] = 2 * x[i] + 1
    return z)");
  auto worker = bench.worker(text);
  ASSERT_OK(worker);
  ASSERT_OK(worker->call(0));
  EXPECT_EQ(wrong(bench, 0), 0);
  const auto loaded = bench.load(text);
  ASSERT_OK(loaded);
  EXPECT_EQ(loaded->guest["math"]["backends.cuda.matmul.allow_tf32"], false);
  EXPECT_EQ(loaded->guest["math"]["float32_matmul_precision"], "highest");
  bench.role = lanes::Role::candidate;
  const auto candidate = bench.load(axpb_triton());
  ASSERT_OK(candidate);
  EXPECT_EQ(candidate->guest["math"]["backends.cuda.matmul.allow_tf32"], true);
}

TEST(PythonDevice, AFaultEndsTheWorker) {
  const ScriptedGpu gpu;
  auto bench = scripted_bench(16, 1);
  auto worker = bench.worker(axpb_triton("torch.cuda.driver().fake_gpu_fault(__import__('ctypes')."
                                         "c_void_p(torch.cuda.current_stream().cuda_stream))"));
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, FailureKind::crashed);
  EXPECT_THAT(called.error().text, HasSubstr("ILLEGAL_ADDRESS"));
}

} // namespace
} // namespace ako
