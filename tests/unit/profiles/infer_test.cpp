#include "profiles/infer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::profiles {
namespace {

InferenceInput input() {
  InferenceInput in;
  in.name = "k", in.time_ns = 100000, in.bytes = 1e6, in.flops = 1e6;
  in.memory_bytes_per_s = 1e11, in.flops_per_s = 1e12, in.ceilings_from = "datasheet";
  return in;
}

void is_labelled(const model::KernelDiagnosis& kernel) {
  ASSERT_FALSE(kernel.findings.empty());
  for (const model::Finding& finding : kernel.findings) {
    EXPECT_THAT(finding.against, testing::Contains(k_inference)) << finding.id;
    EXPECT_LE(finding.confidence, 0.5) << finding.id;
    EXPECT_FALSE(finding.evidence.empty());
    EXPECT_FALSE(finding.moves.empty());
  }
}

TEST(Infer, NearAFloorItIsTheRoof) {
  InferenceInput in = input();
  in.bytes = 9e6; // 90 us of 100
  const auto memory = infer(in);
  is_labelled(memory);
  EXPECT_EQ(memory.findings[0].id, "dram_bandwidth_bound");
  EXPECT_TRUE(memory.done);
  EXPECT_NEAR(*memory.at_ceiling, 0.9, 1e-9);
  EXPECT_NEAR(memory.findings[0].gain_bound, 0.1, 1e-9);
  in.bytes = 1e6, in.flops = 7e7;
  const auto arithmetic = infer(in);
  EXPECT_EQ(arithmetic.findings[0].id, "compute_bound_fp32");
  EXPECT_FALSE(arithmetic.done);
}

TEST(Infer, FarFromBothTheCompilersReportSpeaks) {
  InferenceInput in = input();
  in.capability = 90;
  EXPECT_EQ(infer(in).findings[0].id, "memory_latency");
  EXPECT_LE(infer(in).findings[0].confidence, 0.2); // nothing points there but what is left over
  ResourceUse use;
  use.function = "k", use.registers = 40;
  in.resources = {use};
  EXPECT_EQ(infer(in).findings[0].id, "memory_latency"); // 40 registers keep nobody out
  in.resources[0].registers = 200;
  EXPECT_EQ(infer(in).findings[0].id, "occupancy_registers");
  in.resources[0].spill_load_bytes = 64;
  const auto spills = infer(in);
  is_labelled(spills);
  EXPECT_EQ(spills.findings[0].id, "register_spills");
  EXPECT_NEAR(spills.findings[0].gain_bound, 0.9, 1e-9);
}

TEST(Infer, WarmBytesThatFitComeFromTheCache) {
  InferenceInput in = input();
  in.bytes = 9e6, in.cache_bytes = 5e7, in.cache_bytes_per_s = 1e12;
  EXPECT_EQ(infer(in).findings[0].id, "dram_bandwidth_bound");
  in.warm = true;
  EXPECT_NE(infer(in).findings[0].id, "dram_bandwidth_bound");
}

TEST(Infer, WithoutATimeThereIsNothingToSay) {
  InferenceInput in = input();
  in.time_ns = 0;
  EXPECT_TRUE(infer(in).findings.empty());
}

} // namespace
} // namespace ako::profiles
