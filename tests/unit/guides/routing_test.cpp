// What a task requires: by its lane, architecture and family, by what its sources use, by the
// claim.
#include "guides/routing.hpp"
#include "model/contract_toml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::guides {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class RoutingTest : public testing::Test {
protected:
  void SetUp() override {
    auto library = Library::load(AKO_SOURCE_DIR "/references");
    ASSERT_TRUE(library) << library.error().text();
    m_library = std::move(*library);
    auto routing = load_routing(m_library);
    ASSERT_TRUE(routing) << routing.error().text();
    m_routing = std::move(*routing);
  }
  std::vector<std::string> ids(const Question& question) {
    std::vector<std::string> out;
    for (const auto& one : required(m_routing, m_library, question)) out.push_back(one.guide->id);
    return out;
  }
  std::vector<std::string> ids_with(const char* text) {
    Question question{"cuda", {"sm_90a"}, "elementwise", "iteration", {}};
    question.sources.push_back({"solution/k.cu", text, false});
    return ids(question);
  }
  Library m_library;
  Routing m_routing;
};

TEST_F(RoutingTest, EveryTaskRequiresTheLoopAndMeasuring) {
  for (const char* lane : {"cpu", "cuda", "cutlass", "triton", "cute-dsl"})
    for (const auto& family : m_routing.family_ids()) {
      const auto list = ids({lane, {}, family, "iteration", {}});
      EXPECT_THAT(list, Contains("loop"));
      EXPECT_THAT(list, Contains("measuring"));
      EXPECT_LE(list.size(), 9u) << lane << " " << family << ": nobody reads so much";
    }
}

TEST_F(RoutingTest, LaneArchitectureAndFamilyEachAddTheirOwn) {
  const auto gemm = ids({"cuda", {"sm_90a"}, "gemm", "iteration", {}});
  for (const char* id : {"memory-access", "sm-90", "wgmma", "tma", "numerics"})
    EXPECT_THAT(gemm, Contains(id));
  EXPECT_THAT(gemm, Not(Contains("tcgen05")));
  EXPECT_THAT(gemm, Not(Contains("fused-norms")));
  const auto older = ids({"cuda", {"sm_80"}, "gemm", "iteration", {}});
  EXPECT_THAT(older, Contains("async-copy"));
  EXPECT_THAT(older, Not(Contains("wgmma")));
  EXPECT_THAT(ids({"cuda", {"sm_100a"}, "gemm", "iteration", {}}), Contains("tcgen05"));
  EXPECT_THAT(ids({"cuda", {"sm_90"}, "norm", "iteration", {}}), Contains("fused-norms"));
  EXPECT_THAT(ids({"triton", {"sm_90"}, "gemm", "iteration", {}}),
              Contains("triton-persistent-matmul"));
  EXPECT_THAT(ids({"cpu", {}, "gemm", "iteration", {}}), Not(Contains("memory-access")));
  EXPECT_THAT(ids({"cpu", {}, "gemm", "iteration", {}}), Contains("cpu-kernels"));
  EXPECT_THAT(ids({"cutlass", {"sm_90a"}, "gemm", "iteration", {}}), Contains("cutlass-schedules"));
}

TEST_F(RoutingTest, AMixedImplementationRequiresAllThatApply) {
  const auto plain = ids_with("__global__ void k(float* x) { x[0] = 1; }");
  const std::pair<const char*, const char*> k_uses[] = {
      {"asm volatile(\"prefetch.global.L2 [%0];\" :: \"l\"(p));", "sass-and-ptx"},
      {"__pipeline_memcpy_async(a, b, 16);", "async-copy"},
      {"__grid_constant__ const CUtensorMap map", "tma"},
      {"asm(\"mbarrier.init.shared.b64\")", "mbarrier-pipelines"},
      {"asm(\"wgmma.fence.sync.aligned\")", "wgmma"},
      {"asm(\"tcgen05.alloc\")", "tcgen05"},
      {"asm(\"setmaxnreg.inc\")", "warp-specialisation"},
      {"atomicAdd(out, sum);", "atomics"},
      {"#include <cuda_fp8.h>", "fp8-fp4"},
      {"cudaGraphLaunch(g, s);", "graphs"},
      {"#include <cute/tensor.hpp>", "cute-layouts"},
      {"#include <cutlass/gemm/device/gemm_universal_adapter.h>", "cutlass-collectives"},
      {"prop.multiProcessorCount", "persistent-kernels"}};
  for (const auto& [text, guide] : k_uses) {
    EXPECT_THAT(ids_with(text), Contains(guide)) << text;
    EXPECT_THAT(plain, Not(Contains(guide)));
  }
  const auto mixed = ids_with("#include <cuda_fp8.h>\natomicAdd(o, x); asm volatile(\"\");");
  for (const char* id : {"fp8-fp4", "atomics", "sass-and-ptx"}) EXPECT_THAT(mixed, Contains(id));
}

TEST_F(RoutingTest, SaysWhyAndNamesTheFile) {
  Question question{"cuda", {"sm_90a"}, "norm", "iteration", {}};
  question.sources.push_back({"solution/k.cu", "asm volatile(\"nanosleep.u32 1;\");", false});
  for (const auto& one : required(m_routing, m_library, question)) {
    ASSERT_FALSE(one.why.empty());
    if (one.guide->id == "sass-and-ptx") {
      EXPECT_EQ(one.why[0], "inline PTX in solution/k.cu");
    }
    if (one.guide->id == "sm-90") {
      EXPECT_THAT(one.why[0], HasSubstr("architecture sm_90"));
    }
    if (one.guide->id == "loop") {
      EXPECT_EQ(one.why[0], "every task");
    }
  }
}

TEST_F(RoutingTest, APortRequiresMoreThanAnIteration) {
  EXPECT_THAT(ids({"cuda", {"sm_90"}, "norm", "port", {}}), Contains("porting-back"));
  EXPECT_THAT(ids({"cuda", {"sm_90"}, "norm", "iteration", {}}), Not(Contains("porting-back")));
}

TEST_F(RoutingTest, ATableThatNamesWhatIsNotThereIsRefusedWithItsLine) {
  const std::pair<const char*, const char*> k_broken[] = {
      {"[[rule]]\nguides = [\"lopo\"]\nwhy = \"w\"\n", "lopo"},
      {"[[rule]]\nguides = [\"loop\"]\nfamilies = [\"gem\"]\n", "gem"},
      {"[[rule]]\nguides = [\"loop\"]\nmarkers = [\"m\"]\n", "m"},
      {"[[rule]]\nguides = [\"loop\"]\nlane = [\"cuda\"]\n", "lane"},
      {"[[rule]]\nguides = [\"loop\"]\nclaims = [\"ports\"]\n", "ports"},
      {"[[rule]]\nguides = \"loop\"\n", "list"},
      {"", "no [[rule]]"}};
  for (const auto& [text, says] : k_broken) {
    const auto routing = read_routing(text, "routing.toml", m_library);
    ASSERT_FALSE(routing) << text;
    EXPECT_THAT(routing.error().text(), HasSubstr(says)) << text;
  }
}

std::string contract(const std::string& kernel, const std::string& rest) {
  return "format = 1\n[kernel]\nentry = { file = \"solution/k.cpp\", symbol = \"" + kernel +
         "\" }\n" + rest + "[reference]\nentry = { file = \"input/r.cpp\", symbol = \"r\" }\n";
}

std::string tensors(const std::string& inputs) {
  return "[axes]\nM = { var = true }\nK = { const = 4 }\n" + inputs +
         "[[tensor]]\nname = \"y\"\nrole = \"out\"\ndtype = \"float32\"\nshape = "
         "[\"M\"]\n[[shape]]\nM = 4\n";
}
std::string input(const char* name, const char* shape) {
  return std::string("[[tensor]]\nname = \"") + name +
         "\"\nrole = \"in\"\ndtype = \"float32\"\nshape = [" + shape + "]\n";
}

TEST_F(RoutingTest, TheFamilyComesFromTheNamesAndSaysSo) {
  const std::pair<const char*, const char*> k_names[] = {{"gemm_bias_silu_bf16", "gemm"},
                                                         {"scaled_mm_int8", "gemm"},
                                                         {"rmsnorm_residual", "norm"},
                                                         {"LayerNormForward", "norm"},
                                                         {"softmax_rows", "softmax"},
                                                         {"row_sum_f32", "reduction"},
                                                         {"q8_matvec", "gemv"},
                                                         {"flash_attention", "attention"},
                                                         {"paged_attention", "paged-attention"},
                                                         {"apply_rope", "rotary"},
                                                         {"moe_topk_gate", "moe"},
                                                         {"dequant_int4", "dequantise"},
                                                         {"transpose2d", "transpose"},
                                                         {"silu_and_mul", "elementwise"}};
  for (const auto& [name, family] : k_names) {
    const auto text = contract(name, tensors(input("x", "\"M\"")));
    const auto parsed = model::parse_contract(text, "t");
    ASSERT_TRUE(parsed) << parsed.error().text();
    const auto guess = family_of(m_routing, *parsed, "");
    ASSERT_TRUE(guess);
    EXPECT_EQ(guess->id, family) << name;
    EXPECT_THAT(guess->reason, HasSubstr(name));
  }
}

TEST_F(RoutingTest, WithoutATellingNameTheShapesTell) {
  const auto guess = [&](const std::string& inputs) {
    const auto parsed = model::parse_contract(contract("k", tensors(inputs)), "t");
    EXPECT_TRUE(parsed) << parsed.error().text();
    return family_of(m_routing, *parsed, "").value();
  };
  EXPECT_EQ(guess(input("x", "\"M\"")).id, "elementwise");
  EXPECT_EQ(guess(input("x", "\"M\", \"K\"")).id, "reduction");
  const auto product = guess(input("a", "\"M\", \"K\"") + input("b", "\"K\""));
  EXPECT_EQ(product.id, "gemm");
  EXPECT_THAT(product.reason, HasSubstr("axis K is in a, b"));
}

TEST_F(RoutingTest, TheContractMaySayTheFamilyAndItsIdentityDoesNotChange) {
  const auto plain = contract("k", tensors(input("x", "\"M\"")));
  auto said = plain;
  said.insert(said.find("entry"), "family = \"gather\"\n");
  EXPECT_EQ(declared_family(said), "gather");
  EXPECT_EQ(declared_family(plain), "");
  const auto a = model::parse_contract(plain, "t"), b = model::parse_contract(said, "t");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->hash, b->hash) << "what is judged is the same";
  EXPECT_EQ(family_of(m_routing, *b, "gather")->id, "gather");
  const auto slip = family_of(m_routing, *b, "gathr");
  ASSERT_FALSE(slip);
  EXPECT_THAT(slip.error().next, HasSubstr("gather"));
  auto wrong = plain;
  wrong.insert(wrong.find("entry"), "family = \"No Word\"\n");
  EXPECT_FALSE(model::parse_contract(wrong, "t"));
}

} // namespace
} // namespace ako::guides
