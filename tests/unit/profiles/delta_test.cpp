#include "base/fs.hpp"
#include "profiles/delta.hpp"
#include "profiles/diagnose.hpp"
#include "profiles/source_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::profiles {
namespace {

using testing::HasSubstr;

const std::filesystem::path k_h200 = AKO_SOURCE_DIR "/tests/golden/ncu/h200";

SavedProfile saved(const char* name) {
  auto read = read_profile(k_h200 / (std::string(name) + ".raw.csv"));
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().text());
  return read.value_or(SavedProfile{});
}

Delta between(const SavedProfile& before, const SavedProfile& after) {
  return delta_of(before.report, after.report, before.kernels, after.kernels);
}

TEST(Delta, ACaptureAgainstItselfDidNotMove) {
  const SavedProfile one = saved("transpose_unpadded_tile");
  const Delta delta = between(one, one);
  ASSERT_EQ(delta.kernels.size(), 1u);
  EXPECT_TRUE(delta.kernels[0].metrics.empty());
  EXPECT_TRUE(delta.notes.empty());
  for (const FindingDelta& finding : delta.kernels[0].findings)
    EXPECT_EQ(finding.move, profiles::Move::same) << finding.id;
}

TEST(Delta, WhatWentAndWhatCame) {
  const SavedProfile before = saved("shared_stride32"), after = saved("copy_vec4");
  const Delta delta = between(before, after);
  ASSERT_EQ(delta.kernels.size(), 1u);
  const KernelDelta& kernel = delta.kernels[0];
  ASSERT_FALSE(kernel.findings.empty());
  EXPECT_EQ(kernel.findings[0].id, "shared_bank_conflicts");
  EXPECT_EQ(kernel.findings[0].move, profiles::Move::gone);
  EXPECT_THAT(summary(kernel), HasSubstr("gone: shared_bank_conflicts"));
  EXPECT_THAT(summary(kernel), HasSubstr("now at its ceiling"));
  ASSERT_FALSE(kernel.metrics.empty());
  for (std::size_t i = 0; i < kernel.metrics.size(); ++i)
    EXPECT_NE(kernel.metrics[i].before, kernel.metrics[i].after) << kernel.metrics[i].metric;
  ASSERT_FALSE(delta.notes.empty()); // other names: taken for the same, and said so
  const base::Json json = to_json(delta);
  EXPECT_EQ(json["kernels"][0]["findings"][0]["move"], "gone");
  EXPECT_TRUE(json["kernels"][0]["findings"][0]["rank_after"].is_null());
}

TEST(Delta, KernelsWithoutAPartner) {
  model::DiagnosisReport before, after;
  before.kernels.resize(2), after.kernels.resize(2);
  before.kernels[0].name = "void a<1>(int)", before.kernels[1].name = "b";
  after.kernels[0].name = "c", after.kernels[1].name = "void a<2>(int)";
  const Delta delta = delta_of(before, after);
  ASSERT_EQ(delta.kernels.size(), 1u);
  EXPECT_EQ(delta.kernels[0].name,
            "void a<2>(int)"); // another template argument, the same function
  EXPECT_THAT(delta.only_before, testing::ElementsAre("b"));
  EXPECT_THAT(delta.only_after, testing::ElementsAre("c"));
}

const char* const k_source =
    "\"Kernel Name\",\"k(float *)\"\n"
    "\"File Name\",\"/src/kernels/norm.cu\"\n"
    "\"Line No\",\"Source\",\"Warp Stall Sampling (All Samples)\",\"L2 Theoretical Sectors Global "
    "Excessive\",\"stall_long_sb\"\n"
    "\"14\",\"  float v = x[i * 32];\",\"10\",\"900\",\"9\"\n"
    "\"15\",\"  y[i] = v;\",\"80\",\"100\",\"1\"\n"
    "\"16\",\"}\",\"0\",\"0\",\"0\"\n"
    "\"Kernel Name\",\"k(float *)\"\n"
    "\"Address\",\"Source\",\"Warp Stall Sampling (All Samples)\",\"stall_long_sb\"\n"
    "\"0x7f00\",\"      LDG.E R4, [R2.64]\",\"90\",\"10\"\n";

TEST(SourcePage, TheCounterOfTheCauseChoosesTheLine) {
  auto source = read_source_page(k_source, "f");
  ASSERT_TRUE(source.has_value()) << source.error().text();
  ASSERT_EQ(source->size(), 1u); // both tables are about the same kernel
  EXPECT_EQ((*source)[0].rows.size(), 3u);
  model::DiagnosisReport report;
  report.kernels.resize(1);
  report.kernels[0].name = "k(float *)";
  for (const char* id : {"uncoalesced_global_access", "memory_latency", "tail_wave"})
    report.kernels[0].findings.emplace_back().id = id;
  add_source_lines(*source, report);
  const auto& findings = report.kernels[0].findings;
  ASSERT_EQ(findings[0].lines.size(), 2u);
  EXPECT_EQ(findings[0].lines[0], "norm.cu:14 (90 % of the excess sectors): float v = x[i * 32];");
  EXPECT_THAT(findings[1].lines[0], HasSubstr("norm.cu:14 (90 % of the waits for memory)"));
  EXPECT_THAT(findings[2].lines[0], HasSubstr("norm.cu:15 (89 % of the stall samples)"));
  EXPECT_EQ(model::to_json(report)["kernels"][0]["findings"][0]["lines"].size(), 2u);
}

TEST(SourcePage, InstructionsWhereNoLinesAreKnown) {
  const std::string page(k_source);
  auto source = read_source_page(page.substr(page.rfind("\"Kernel Name\"")), "f");
  ASSERT_TRUE(source.has_value());
  model::DiagnosisReport report;
  report.kernels.resize(2);
  report.kernels[0].name = "k(float *)", report.kernels[1].name = "another";
  report.kernels[0].findings.emplace_back().id = "memory_latency";
  report.kernels[1].findings.emplace_back().id = "memory_latency";
  add_source_lines(*source, report);
  ASSERT_EQ(report.kernels[0].findings[0].lines.size(), 1u);
  EXPECT_THAT(report.kernels[0].findings[0].lines[0], HasSubstr("0x7f00 (100 %"));
  EXPECT_TRUE(report.kernels[1].findings[0].lines.empty());
  EXPECT_FALSE(read_source_page("no page\n", "f"));
}

} // namespace
} // namespace ako::profiles
