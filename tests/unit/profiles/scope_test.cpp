#include "base/fs.hpp"
#include "base/sqlite.hpp"
#include "profiles/names.hpp"
#include "profiles/scope.hpp"
#include "profiles/torch_trace.hpp"

#include <cmath>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::profiles {
namespace {

using testing::HasSubstr;

const std::string k_trace = AKO_SOURCE_DIR "/tests/golden/profiles/trace.json.gz";

TEST(Names, TheFunctionBehindASignature) {
  EXPECT_EQ(short_name("void ns::k<float, (int)4>(float*, int)"), "ns::k");
  EXPECT_EQ(short_name("void (anonymous namespace)::softmax<float>(float*)"), "softmax");
  EXPECT_EQ(short_name("<unnamed>::stream_copy(const float4 *)"), "stream_copy");
  EXPECT_EQ(short_name("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(short_name(""), "");
}

TEST(Names, Families) {
  EXPECT_EQ(family_of("nvjet_sm90_tst_64x64_64x13_2x1_v_bz_bias_TNT"), "matrix product");
  EXPECT_EQ(family_of("void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>(Params)"),
            "attention");
  EXPECT_EQ(family_of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)"),
            "collective");
  EXPECT_EQ(family_of("void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*)"),
            "normalisation");
  // The functor would say "elementwise": the kernel's own name stands before it.
  EXPECT_EQ(family_of("void at::native::reduce_kernel<512, 1, ReduceOp<float, fill_functor>>(int)"),
            "reduction");
  EXPECT_EQ(family_of("my_kernel"), "other");
}

TEST(Names, PhasesAreWholeWords) {
  EXPECT_EQ(phase_of("prefill_step"), "prefill");
  EXPECT_EQ(phase_of("model.DecodeStep"), "decode");
  EXPECT_EQ(phase_of("decoder_layer_3"), "");
  EXPECT_EQ(phase_of("execute_context_1(512)_generation_0(0)"), "prefill");
  EXPECT_EQ(phase_of("execute_context_0(0)_generation_8(8)"), "decode");
  EXPECT_EQ(phase_of("execute_context_2(900)_generation_8(8)"), "mixed");
  EXPECT_EQ(phase_of("Optimizer.step#AdamW.step"), "optimizer");
  EXPECT_EQ(phase_of("context_parallel"), "");
}

TEST(Scope, RealTraceByOperatorFamilyAndShape) {
  auto report = scope_file(k_trace, {});
  ASSERT_TRUE(report.has_value()) << report.error().text();
  ASSERT_EQ(report->kernels.size(), 6u);
  const ScopeKernel& first = report->kernels[0];
  EXPECT_EQ(first.family, "matrix product");
  ASSERT_EQ(first.operators.size(), 1u);
  EXPECT_EQ(first.operators[0].name, "aten::addmm");
  ASSERT_EQ(first.launchers.size(), 1u);
  EXPECT_EQ(first.launchers[0].name, "cuLaunchKernelEx");
  ASSERT_EQ(first.shapes.size(), 1u);
  EXPECT_EQ(first.shapes[0].count, 6);
  EXPECT_EQ(first.shapes[0].launch, "grid 2x64x1 block 384x1x1");
  EXPECT_EQ(first.shapes[0].inputs, "BFloat16[1024] BFloat16[512,4096] BFloat16[4096,1024]");
  double families = 0, operators = 0;
  for (const ScopeGroup& group : report->families) families += group.of_kernels;
  for (const ScopeGroup& group : report->operators) operators += group.of_kernels;
  EXPECT_NEAR(families, 1, 1e-9);
  EXPECT_NEAR(operators, 1, 1e-9);
  EXPECT_TRUE(report->phases.empty()); // step_0 to step_5 say nothing of a phase
  ASSERT_TRUE(report->hot.has_value());
  EXPECT_EQ(report->hot->heat, Heat::cold); // 98 % of this run are gaps
  EXPECT_THAT(to_text(*report), HasSubstr("aten::addmm"));
}

std::string event(const char* category, const char* name, int start, int length,
                  const std::string& args, int process = 0, int thread = 7) {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}},)",
      category, name, process, thread, start, length, args);
}

/// Ten launches of each of two kernels inside annotations; "hot" takes three quarters.
std::string service() {
  std::string all = R"({"traceEvents":[)";
  for (int i = 0; i < 10; ++i) {
    const int at = i * 1000, link = 2 * i + 1;
    all += event("user_annotation", i % 2 ? "decode" : "prefill", at, 50, "", 1, 1);
    all += event("user_annotation", "layer", at + 5, 40, "", 1, 1);
    all += event("cuda_runtime", "cudaLaunchKernel", at + 10, 5,
                 fmt::format(R"("correlation":{})", link), 1, 1);
    all += event("cuda_runtime", "cudaLaunchKernel", at + 20, 5,
                 fmt::format(R"("correlation":{})", link + 1), 1, 1);
    // The device is far behind the host: only the launch tells the phase.
    all += event(
        "kernel", "hot_gemm", 100000 + at / 10, 75,
        fmt::format(R"("device":0,"stream":7,"correlation":{},"grid":[{},1,1],"block":[128,1,1])",
                    link, 1 + i % 2));
    all += event("kernel", "small_add", 100000 + at / 10 + 75, 24,
                 fmt::format(R"("device":0,"stream":7,"correlation":{})", link + 1));
  }
  all.back() = ']';
  return all + "}";
}

TEST(Scope, PhaseOfTheLaunchNotOfTheMoment) {
  auto timeline = parse_torch_trace(service(), "f");
  ASSERT_TRUE(timeline.has_value());
  auto report = scope_of(*timeline, {});
  ASSERT_TRUE(report.has_value()) << report.error().text();
  ASSERT_EQ(report->phases.size(), 2u);
  EXPECT_EQ(report->phase_basis, "annotations of the trace");
  EXPECT_NEAR(report->phases[0].of_kernels, 0.5, 1e-9);
  ASSERT_EQ(report->operators.size(), 1u);
  EXPECT_EQ(report->operators[0].name, "layer"); // the innermost range stands for the operator
  EXPECT_EQ(report->kernels[0].shapes.size(), 2u);
  ASSERT_TRUE(report->hot.has_value());
  EXPECT_EQ(report->hot->heat, Heat::hot);
  EXPECT_NEAR(*report->hot->alone, 750.0 / 999, 1e-6);
  EXPECT_NEAR(report->hot->gains[2].gain, 0.5 * 750.0 / 999, 1e-6); // at twice the speed
  EXPECT_TRUE(std::isinf(report->hot->gains.back().speedup));
  ASSERT_FALSE(report->sum.fusion.empty());
  EXPECT_EQ(report->sum.fusion[0].times, 10);
}

TEST(Scope, TheKernelThatIsAskedFor) {
  auto timeline = parse_torch_trace(service(), "f");
  ASSERT_TRUE(timeline.has_value());
  ScopeOptions options;
  options.kernel = "small";
  options.hot_from = 0.3;
  auto report = scope_of(*timeline, options);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->hot->launches, 10);
  EXPECT_EQ(report->hot->heat, Heat::warm); // a quarter, where 30 % are asked for
  options.kernel = "absent";
  auto none = scope_of(*timeline, options);
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().found, HasSubstr("absent"));
  EXPECT_THAT(none.error().allowed, HasSubstr("hot_gemm"));
}

TEST(Scope, PhaseFromTheFileName) {
  auto timeline = parse_torch_trace(
      R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":2}]})", "f");
  ScopeOptions options;
  options.file_name = "1712-TP-0-DECODE.trace.json";
  auto report = scope_of(*timeline, options);
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->phases.size(), 1u);
  EXPECT_EQ(report->phases[0].name, "decode");
  EXPECT_EQ(report->phase_basis, "the name of the file");
}

TEST(Scope, NsysDatabaseWithRangesAndWithout) {
  auto folder = base::TemporaryDir::make("scope");
  auto path = folder->path() / "run.sqlite";
  {
    auto db = base::Database::open(path, base::Database::Mode::create);
    ASSERT_TRUE(db->exec(
        "CREATE TABLE StringIds(id INTEGER, value TEXT);"
        "INSERT INTO StringIds VALUES(1,'k'),(2,'cudaLaunchKernel_v7000'),(3,'decode step');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, streamId INT,"
        " correlationId INT, demangledName INT, gridX INT, gridY INT, gridZ INT, blockX INT, "
        "blockY INT,"
        " blockZ INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
        "VALUES(100,200,0,7,5,1,8,2,1,64,1,1),(200,300,0,7,6,1,8,2,1,64,1,1);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, correlationId "
        "INT, nameId INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME "
        "VALUES(10,12,77777777777,5,2),(60,62,77777777777,6,2);"
        "CREATE TABLE NVTX_EVENTS(start INT, end INT, globalTid INT, text TEXT, textId INT);"
        "INSERT INTO NVTX_EVENTS "
        "VALUES(0,20,77777777777,NULL,3),(50,NULL,77777777777,'prefill',NULL),"
        "(55,70,88888888888,'prefill',NULL);"));
  }
  auto report = scope_file(path, {});
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_EQ(report->source, "nsys database");
  ASSERT_EQ(report->kernels.size(), 1u);
  EXPECT_EQ(report->kernels[0].shapes[0].launch, "grid 8x2x1 block 64x1x1");
  EXPECT_EQ(report->kernels[0].shapes[0].count, 2);
  EXPECT_EQ(report->kernels[0].launchers[0].name, "cudaLaunchKernel_v7000");
  // One launch lies in the range of its thread; another thread's range and a mark enclose nothing.
  ASSERT_EQ(report->phases.size(), 2u);
  for (const ScopeGroup& phase : report->phases) EXPECT_EQ(phase.launches, 1) << phase.name;
}

TEST(Scope, SumsAreNoWallTimeAndNcuProvesNoHeat) {
  auto folder = base::TemporaryDir::make("scope");
  auto path = folder->path() / "kern_sum.csv";
  ASSERT_TRUE(base::write_file_atomic(
      path, "\"Time (%)\",\"Total Time (ns)\",\"Instances\",\"Avg (ns)\",\"Name\"\n"
            "75.0,7500,50,150,a\n25.0,2500,10,250,b\n"));
  auto sums = scope_file(path, {});
  ASSERT_TRUE(sums.has_value()) << sums.error().text();
  EXPECT_EQ(sums->whole, Whole::kernels);
  EXPECT_FALSE(sums->hot->of_wall.has_value());
  EXPECT_NEAR(sums->hot->of_kernels, 0.75, 1e-9);
  EXPECT_EQ(sums->hot->heat, Heat::hot);
  EXPECT_TRUE(to_json(*sums)["hot"]["of_wall_pct"].is_null());
  auto ncu = scope_file(AKO_SOURCE_DIR "/tests/golden/ncu/given/app_stdout_mixed.csv", {});
  ASSERT_TRUE(ncu.has_value()) << ncu.error().text();
  EXPECT_EQ(ncu->hot->heat, Heat::unproven);
}

TEST(Scope, StatedSharesNeedASource) {
  auto stated = scope_stated(0.4, "the service's dashboard", "rmsnorm", {});
  ASSERT_TRUE(stated.has_value());
  EXPECT_NEAR(stated->hot->gains[2].gain, 0.2, 1e-9);
  EXPECT_THAT(stated->hot->against[0], HasSubstr("dashboard"));
  EXPECT_FALSE(scope_stated(0.4, "", "rmsnorm", {}));
  EXPECT_FALSE(scope_stated(1.2, "x", "rmsnorm", {}));
  EXPECT_FALSE(scope_stated(NAN, "x", "rmsnorm", {}));
}

TEST(Scope, NothingRan) {
  auto timeline = parse_torch_trace(R"({"traceEvents":[]})", "f");
  auto report = scope_of(*timeline, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->hot.has_value());
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_TRUE(to_json(*report)["hot"].is_null());
}

} // namespace
} // namespace ako::profiles
