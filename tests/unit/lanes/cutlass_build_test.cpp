// The cutlass lane against a real nvcc, over a stand-in for CUTLASS' headers: flags, types,
// statuses, versions, suffixes, and an error of ten thousand lines.
#include "cutlass_bench.hpp"
#include "model/device.hpp"

#include <algorithm>

namespace ako::test {
namespace {

std::string said_by(const lanes::BuildResult& result) {
  return result.error ? result.error->text() : "no error";
}

const std::string k_head = "#include <cutlass/cutlass.h>\n#include <cutlass/numeric_types.h>\n";

std::string returning(const std::string& status) {
  return k_head +
         "cutlass::Status k(const float*, float*, int, float, cudaStream_t) {\n  return "
         "cutlass::Status::" +
         status + ";\n}\n";
}

TEST(CutlassBuild, FlagsHeadersAndToolchainAreOnRecord) {
  AKO_NEEDS_NVCC();
  CutlassBench bench;
  const auto result = bench.build(returning("kSuccess"));
  ASSERT_TRUE(result.artifact) << said_by(result);
  for (const std::string word :
       {"-std=c++17", "--expt-relaxed-constexpr", "-isystem", "arch=compute_90a,code=sm_90a"})
    EXPECT_NE(result.artifact->compile_line.find(word), std::string::npos) << word;
  EXPECT_NE(result.artifact->compiler_identity.find("| CUTLASS 4.2.1 | "), std::string::npos);
  EXPECT_TRUE(bench.build(returning("kSuccess")).artifact->from_cache);
  bench.header("cute/tensor.hpp", "#pragma once\n// another CUTLASS\n");
  EXPECT_FALSE(bench.build(returning("kSuccess")).artifact->from_cache);
}

TEST(CutlassBuild, AStatusOfCutlassComesBackAsItself) {
  AKO_NEEDS_NVCC();
  CutlassBench bench;
  const auto good = bench.build(returning("kSuccess"));
  // Without a driver the runtime itself has an error to tell, and nothing of CUTLASS' hides it.
  const int fine = Loaded(good).call({nullptr, nullptr}, {1, 1}, {0});
  EXPECT_TRUE(fine == 0 || fine == model::k_launch_status - 35) << fine;
  const auto bad = bench.build(returning("kErrorInvalidProblem"));
  const int status = Loaded(bad).call({nullptr, nullptr}, {1, 1}, {0});
  EXPECT_EQ(status, model::k_cutlass_status - 4);
  const auto trouble = model::launch_trouble(status);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->name, "cutlass::Status::kErrorInvalidProblem");
  EXPECT_NE(trouble->cause.find("can_implement"), std::string::npos);
}

TEST(CutlassBuild, TensorsMayBeOfCutlassOwnTypes) {
  AKO_NEEDS_NVCC();
  CutlassBench bench;
  bench.contract.tensors[0].dtype = model::Dtype::bfloat16;
  const std::string rest = "*, float*, int, float, cudaStream_t) {}\n";
  for (const char* type : {"cutlass::bfloat16_t", "__nv_bfloat16", "void"}) {
    const auto good = bench.build(k_head + "#include <cuda_bf16.h>\nvoid k(const " + type + rest);
    EXPECT_TRUE(good.artifact) << type << "\n" << said_by(good);
  }
  const auto bad = bench.build(k_head + "void k(const cutlass::half_t" + rest);
  ASSERT_TRUE(bad.error);
  EXPECT_NE(bad.error->message.find("argument 1 of 'k'"), std::string::npos) << bad.error->text();
  EXPECT_NE(bad.error->allowed.find("cutlass::bfloat16_t"), std::string::npos);
}

TEST(CutlassBuild, AReferenceNeedsNothingOfCutlass) {
  AKO_NEEDS_NVCC();
  CutlassBench bench;
  bench.role = lanes::Role::reference;
  bench.contract.tensors[0].dtype = model::Dtype::bfloat16;
  bench.write("input/ref.cu",
              "#include <cuda_bf16.h>\nvoid ref(const __nv_bfloat16*, double*, int, "
              "float, cudaStream_t) {}\n");
  const auto result = bench.build();
  EXPECT_TRUE(result.artifact) << said_by(result);
}

TEST(CutlassBuild, AnotherVersionThanTheSourceAsksForIsTheMachines) {
  CutlassBench bench;
  AKO_NEEDS_NVCC();
  const auto bad = bench.build("// cutlass >= 4.3\n" + returning("kSuccess"));
  ASSERT_TRUE(bad.error);
  EXPECT_EQ(bad.error->kind, base::ErrorKind::environment);
  EXPECT_EQ(bad.error->where, "solution/k.cu:1");
  EXPECT_TRUE(bench.build("// cutlass >= 4.2\n" + returning("kSuccess")).artifact);
}

TEST(CutlassBuild, ACollectiveWithoutItsSuffixIsRefusedBeforeItIsCompiled) {
  CutlassBench bench;
  AKO_NEEDS_NVCC();
  const std::string text = "// tags: \nusing Tag = int; // cutlass::arch::Sm90\n" + k_head +
                           "namespace cutlass::arch { struct Sm90 {}; }\n"
                           "using Arch = cutlass::arch::Sm90;\n" +
                           returning("kSuccess").substr(k_head.size());
  bench.contract.kernel.architectures = {"sm_90"};
  const auto bad = bench.build(text);
  ASSERT_TRUE(bad.error);
  EXPECT_EQ(bad.error->where, "solution/k.cu:6") << bad.error->text();
  EXPECT_NE(bad.error->next.find("architectures = [\"sm_90a\"]"), std::string::npos);
  bench.contract.kernel.architectures = {"sm_90a"};
  EXPECT_TRUE(bench.build(text).artifact);
  bench.contract.kernel.architectures.clear(); // the device's own, with what the source needs
  bench.device_architecture = "sm_90";
  const auto chosen = bench.build(text);
  ASSERT_TRUE(chosen.artifact) << said_by(chosen);
  EXPECT_NE(chosen.artifact->compile_line.find("sm_90a"), std::string::npos);
}

TEST(CutlassBuild, TenThousandLinesBecomeTheirFirstCause) {
  AKO_NEEDS_NVCC();
  CutlassBench bench;
  // Each use fails forty instantiations deep, with types that grow on the way.
  bench.header("cutlass/deep.hpp",
               "#pragma once\ntemplate <class... T> struct Pack {};\n"
               "template <int N, class... T> struct Deep : Deep<N - 1, Pack<T...>, T...> {};\n"
               "template <class... T> struct Deep<0, T...> {\n"
               "  static_assert(sizeof...(T) == 0, \"Could not build a collective for given "
               "parameters.\");\n  using type = typename Pack<T...>::absent;\n};\n");
  std::string text = k_head + "#include <cutlass/deep.hpp>\n";
  for (int i = 0; i < 120; ++i)
    text += "struct Tag" + std::to_string(i) + " {};\nusing U" + std::to_string(i) +
            " = typename Deep<" + std::to_string(8 + i % 3) + ", Tag" + std::to_string(i) +
            ">::type;\n";
  const auto result = bench.build(text + returning("kSuccess").substr(k_head.size()));
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->message.find("has no collective for this combination"), std::string::npos)
      << result.error->text();
  EXPECT_TRUE(result.error->where.starts_with("solution/k.cu:5")) << result.error->where;
  EXPECT_LT(result.error->text().size(), 2500u);
  EXPECT_LE(result.messages.size(), 50u);
  EXPECT_EQ(result.outcome.kind, model::OutcomeKind::build_failed);
  ASSERT_FALSE(result.log_path.empty());
  EXPECT_NE(result.error->next.find(result.log_path), std::string::npos);
  const auto log = base::read_file(result.log_path, 1u << 30);
  ASSERT_TRUE(log);
  EXPECT_GT(std::count(log->begin(), log->end(), '\n'), 400);
  EXPECT_GT(log->size(), 100000u);
}

} // namespace
} // namespace ako::test
