#include "report/html/page.hpp"
#include "report/markdown.hpp"
#include "report/roofline.hpp"
#include "report/text/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const char* const k_contract = R"(format = 1
[kernel]
name = "scale"
lane = "cpu"
entry = { file = "solution/k.cpp", symbol = "scale" }
[axes]
N = { var = true }
[[tensor]]
name = "x"
role = "in"
dtype = "float32"
shape = ["N"]
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["N"]
[[shape]]
tag = "large"
N = 1000000
[reference]
entry = { file = "input/k.cpp", symbol = "scale" }
[[baseline]]
name = "first"
entry = { file = "input/k.cpp", symbol = "scale" }
[cost]
flops = "FLOPS"
)";

Data roof_data(const std::string& flops) {
  Data out;
  std::string text = k_contract;
  text.replace(text.find("FLOPS"), 5, flops);
  out.contract = ledger::ContractSeen{{}, text};
  out.environment = ledger::Environment{};
  out.environment->device = "a processor";
  out.environment->details = {
      {"ceilings",
       {{"memory_bytes_per_s", 2e10}, {"cache_bytes_per_s", 2e11}, {"flops_per_s", 1e11}}}};
  ledger::BaselineEntry entry;
  entry.name = "first";
  entry.shapes.resize(1);
  entry.shapes[0].tag = "large", entry.shapes[0].p50_ns = 800000;
  ledger::Baseline baseline;
  baseline.fastest = "first", baseline.entries = {entry};
  out.baseline = {{}, baseline};
  return out;
}

TEST(Roofline, SharesOfTheTallerRoof) {
  const auto memory = roofline_of(roof_data("2*N"));
  ASSERT_TRUE(memory.has_value());
  ASSERT_EQ(memory->points.size(), 1u); // no candidate was kept
  EXPECT_DOUBLE_EQ(memory->points[0].intensity(), 0.25);
  EXPECT_NEAR(memory->share(memory->points[0]), 0.5, 1e-9); // 8 MB at 20 GB/s is 400 us of 800
  EXPECT_STREQ(memory->roof(memory->points[0]), "memory");
  const auto arithmetic = roofline_of(roof_data("60*N"));
  EXPECT_NEAR(arithmetic->share(arithmetic->points[0]), 0.75, 1e-9);
  EXPECT_STREQ(arithmetic->roof(arithmetic->points[0]), "arithmetic");
  EXPECT_THAT(roofline_table_md(*memory), HasSubstr("50 % of memory"));
}

TEST(Roofline, ThePictureIsInThePageAndFollowsItsColours) {
  const std::string page = report_html(roof_data("2*N"));
  EXPECT_THAT(page, HasSubstr("aria-label=\"roofline\""));
  EXPECT_THAT(page, HasSubstr("large, baseline"));
  EXPECT_THAT(page, HasSubstr("class=\"roof cache\""));
  const std::string svg = roofline_svg(*roofline_of(roof_data("2*N")));
  EXPECT_THAT(svg, Not(HasSubstr("fill=\"")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(report_md(roof_data("2*N")), HasSubstr("Under the roofs"));
}

TEST(Roofline, WithoutArithmeticATableAlone) {
  const auto copy = roofline_of(roof_data("0"));
  ASSERT_TRUE(copy.has_value());
  EXPECT_TRUE(roofline_svg(*copy).empty());
  EXPECT_THAT(report_html(roof_data("0")), HasSubstr("50 % of memory"));
}

TEST(Roofline, TensorCoresRaiseTheFlatRoofOfTheirDtypesAlone) {
  Data with = roof_data("60*N");
  auto& ceilings = with.environment->details["ceilings"];
  const double plain = roofline_of(with)->flops_per_s;
  ceilings["tensor"]["bfloat16"] = {{"ops_per_s", 100 * plain}, {"how", "wgmma"}};
  EXPECT_EQ(roofline_of(with)->flops_per_s, plain) << "its tensors are float32";
  ceilings["tensor"]["float32"] = {{"ops_per_s", 10 * plain}, {"how", "wgmma"}};
  EXPECT_EQ(roofline_of(with)->flops_per_s, 10 * plain);
  EXPECT_THAT(roofline_of(with)->source, HasSubstr("float32 on tensor cores by wgmma"));
  ceilings["tensor"] = {{"unavailable", "no NVRTC"}};
  EXPECT_EQ(roofline_of(with)->flops_per_s, plain);
}

TEST(Roofline, NothingIsInvented) {
  Data none = roof_data("2*N");
  none.environment->details = base::Json::object(); // never calibrated, and no known GPU
  EXPECT_FALSE(roofline_of(none).has_value());
  EXPECT_THAT(report_html(none), Not(HasSubstr("roofline")));
  none = roof_data("2*N");
  none.baseline.reset();
  EXPECT_FALSE(roofline_of(none).has_value());
  none = roof_data("2*N");
  none.environment->details = base::Json::object();
  none.environment->device = "NVIDIA H200";
  ASSERT_TRUE(roofline_of(none).has_value());
  EXPECT_THAT(roofline_of(none)->source, HasSubstr("datasheet"));
}

TEST(Roofline, ExcessTrafficOfACapture) {
  Data seen = roof_data("2*N");
  ledger::Profile profile;
  profile.tool = "ncu 2025.3.1";
  profile.data = {{"shape", "large"}, {"traffic", {{"dram_bytes", 2e7}}}};
  seen.profiles.push_back({{}, profile});
  ledger::Iteration kept;
  kept.number = 1, kept.decision = model::Decision::keep;
  model::Verdict verdict;
  verdict.against = "baseline:first";
  verdict.shapes.resize(1);
  verdict.shapes[0].tag = "large", verdict.shapes[0].new_ns = 500000;
  kept.verdict = verdict, kept.versus_baseline = verdict;
  seen.incumbent = {{}, kept};
  const auto roofline = roofline_of(seen);
  ASSERT_TRUE(roofline.has_value());
  ASSERT_EQ(roofline->points.size(), 2u);
  EXPECT_THAT(roofline_table_md(*roofline), HasSubstr("2.50 x declared"));
}

TEST(Prediction, WhatBecameOfIt) {
  model::Verdict verdict;
  EXPECT_EQ(prediction_outcome({}, verdict), "");
  EXPECT_EQ(prediction_outcome(0.1, verdict), "not measured");
  verdict.shapes.resize(1);
  verdict.gain = 0.1, verdict.interval = {0.08, 0.12};
  EXPECT_THAT(prediction_outcome(0.1, verdict), HasSubstr("yes: "));
  EXPECT_THAT(prediction_outcome(0.05, verdict), HasSubstr("yes, and more"));
  EXPECT_THAT(prediction_outcome(0.3, verdict), HasSubstr("fell short"));
  verdict.gain = -0.01, verdict.interval = {-0.02, 0.01};
  EXPECT_THAT(prediction_outcome(0.3, verdict), HasSubstr("no: "));
}

} // namespace
} // namespace ako::report
