// What sources ask of an architecture. The table itself is held against the assembler where there
// is one: each instruction is put to ptxas for each architecture.
#include "cuda_bench.hpp"
#include "executors/runner.hpp"
#include "lanes/cuda/features.hpp"
#include "lanes/cuda/nvcc.hpp"

#include <fstream>

namespace ako::test {
namespace {

using lanes::cuda::Architecture;
using lanes::cuda::find_features;

model::Sources sources(const std::string& text) {
  model::Sources out;
  out.texts = {{"solution/k.cu", text, false}};
  return out;
}

Architecture arch(const std::string& text) { return lanes::cuda::parse_architecture(text).value(); }

TEST(CudaFeatures, NamesOfArchitectures) {
  for (const char* name : {"sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103",
                           "sm_103a", "sm_120", "sm_120a", "sm_100f"})
    EXPECT_EQ(arch(name).text(), name);
  for (const char* name : {"", "sm_", "sm_9", "sm_70", "sm_80a", "sm_90f", "sm_90aa", "90a",
                           "compute_90", "sm_90 ", "sm_99999999999999999999"}) {
    const auto parsed = lanes::cuda::parse_architecture(name);
    ASSERT_FALSE(parsed) << name;
    EXPECT_NE(parsed.error().allowed.find("sm_90a"), std::string::npos);
  }
}

TEST(CudaFeatures, WhatRunsWhere) {
  EXPECT_TRUE(runs_on(arch("sm_90a"), arch("sm_90")));
  EXPECT_TRUE(runs_on(arch("sm_90"), arch("sm_90")));
  EXPECT_TRUE(runs_on(arch("sm_80"), arch("sm_89")));
  EXPECT_TRUE(runs_on(arch("sm_100f"), arch("sm_103")));
  EXPECT_FALSE(runs_on(arch("sm_100a"), arch("sm_103")));
  EXPECT_FALSE(runs_on(arch("sm_80"), arch("sm_90")));
  EXPECT_FALSE(runs_on(arch("sm_103"), arch("sm_100")));
}

TEST(CudaFeatures, TheSuffixFollowsFromTheSource) {
  const auto with = [](const std::string& text, const char* device) {
    return suited(arch(device), find_features(sources(text))).text();
  };
  EXPECT_EQ(with("asm(\"wgmma.fence.sync.aligned;\");", "sm_90"), "sm_90a");
  EXPECT_EQ(with("asm(\"setmaxnreg.inc.sync.aligned.u32 240;\");", "sm_90"), "sm_90a");
  EXPECT_EQ(with("asm(\"tcgen05.fence::before_thread_sync;\");", "sm_100"), "sm_100a");
  EXPECT_EQ(with("asm(\"tcgen05.fence::before_thread_sync;\");", "sm_103"), "sm_103a");
  // TMA is there on every sm_90: no suffix is needed for it alone.
  EXPECT_EQ(with("asm(\"cp.async.bulk.tensor.2d.shared::cluster ...\");", "sm_90"), "sm_90");
  EXPECT_EQ(with("float plain;", "sm_90"), "sm_90");
  // What the device has in no form changes nothing: ptxas says so later.
  EXPECT_EQ(with("asm(\"wgmma.fence.sync.aligned;\");", "sm_100"), "sm_100");
}

TEST(CudaFeatures, CommentsDoNotCountAndLinesDo) {
  EXPECT_TRUE(find_features(sources("// wgmma.fence\n/* tcgen05.mma\n setmaxnreg. */\n")).empty());
  EXPECT_TRUE(find_features(sources("int my_wgmma = 0; x.mapa_y();\n")).empty());
  const auto uses = find_features(
      sources("const char* s = \"// no comment\"; // wgmma.\n\nasm(\"wgmma.fence;\");\n"));
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].line, 3);
  EXPECT_EQ(uses[0].needs(), "sm_90a");
}

TEST(CudaFeatures, ExplainsByTheLongestNameThatFits) {
  const auto uses = find_features(sources("\nasm(\"cp.async.bulk.tensor.2d\");\n"));
  const auto error = explain_feature("cp.async.bulk.tensor", arch("sm_80"), uses);
  EXPECT_EQ(error.where, "solution/k.cu:2");
  EXPECT_EQ(error.allowed, "cp.async.bulk.tensor needs sm_90 or newer");
  const auto unknown = explain_feature("frobnicate", arch("sm_90"), uses);
  EXPECT_EQ(unknown.where, "kernel.architectures");
  EXPECT_FALSE(unknown.next.empty());
}

/// One instruction of each feature, in a kernel of its own.
const std::pair<const char*, const char*> k_instructions[] = {
    {"wgmma.", "wgmma.fence.sync.aligned;"},
    {"tcgen05.", "tcgen05.fence::before_thread_sync;"},
    {"setmaxnreg.", "setmaxnreg.inc.sync.aligned.u32 240;"},
    {"tensormap.replace", "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd1;"},
    {"cp.async.bulk.tensor",
     "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, "
     "{%r1, %r1}], [%r1];"},
    {"cp.async.bulk", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
                      "[%rd1], %r1, [%r1];"},
    {"griddepcontrol.", "griddepcontrol.wait;"},
    {"barrier.cluster.", "barrier.cluster.arrive.aligned;"},
    {"mapa.", "mapa.shared::cluster.u32 %r1, %r1, %r1;"},
    {"stmatrix.", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r1};"},
    {"elect.sync", "elect.sync %r1|%p1, 0xffffffff;"},
    {"multimem.", "multimem.red.global.add.f32 [%rd1], %f1;"},
    {"mbarrier.try_wait", "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r1;"},
    {"cp.async.", "cp.async.cg.shared.global [%r1], [%rd1], 16;"},
};

TEST(CudaFeatures, TheTableAgreesWithTheAssembler) {
  AKO_NEEDS_NVCC();
  const auto dir = base::TemporaryDir::make("ako-test-").value();
  const auto around = lanes::Surroundings::of_this_process(executors::local_runner(), {});
  const auto ptxas = fs::path(lanes::cuda::find_nvcc("", around)->path).parent_path() / "ptxas";
  const std::string file = (dir.path() / "k.ptx").string();
  for (const auto& [word, instruction] : k_instructions) {
    const auto uses = find_features(sources(std::string("asm(\"") + instruction + "\");"));
    ASSERT_FALSE(uses.empty()) << word;
    for (const char* name : {"sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103a",
                             "sm_120", "sm_120a"}) {
      std::ofstream(file) << ".version 9.0\n.target " << name
                          << "\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .b32 "
                             "%r<2>;\n.reg .b64 %rd<2>;\n.reg .f32 %f<2>;\n.reg .pred %p<2>;\n"
                             "ld.param.u64 %rd1, [p];\nmov.u32 %r1, 0;\nmov.f32 %f1, 0f00000000;\n"
                          << instruction << "\nret;\n}\n";
      base::CommandOptions options;
      options.argv = {ptxas.string(), std::string("-arch=") + name, file, "-o",
                      (dir.path() / "k.cubin").string()};
      const auto result = base::run_command(options);
      ASSERT_TRUE(result);
      bool had = true;
      for (const auto& use : uses) had = had && use.had_by(arch(name));
      EXPECT_EQ(result->ok(), had)
          << instruction << " on " << name << ": " << result->err << result->out;
    }
  }
}

} // namespace
} // namespace ako::test
