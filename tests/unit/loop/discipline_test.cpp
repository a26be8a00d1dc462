// Predictions, the width of a change, attempts that come back, and reasons to stop.
#include "loop/change.hpp"
#include "loop/prediction.hpp"
#include "loop/stops.hpp"
#include "workspace/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Result = TermOutcome::Result;

const std::vector<std::string> k_shapes = {"decode-1", "prefill"};

model::Verdict verdict(double gain, double low, double high) {
  model::Verdict out;
  out.outcome.kind = model::OutcomeKind::improved;
  out.gain = gain;
  out.interval = {low, high};
  out.placements = 4;
  model::ShapeVerdict shape;
  shape.tag = "decode-1";
  shape.old_ns = 8000;
  shape.new_ns = 4000;
  shape.gain = 0.5;
  shape.interval = {0.45, 0.55};
  out.shapes = {shape};
  return out;
}

Result held(const std::string& prediction, const model::Verdict& measured) {
  const auto terms = parse_prediction(prediction, k_shapes);
  EXPECT_TRUE(terms) << prediction << ": " << terms.error().text();
  model::Artifact artifact;
  artifact.resources = {{"kernels",
                         {{{"registers", 40}, {"shared_bytes", 2048}, {"spill_store_bytes", 8}},
                          {{"registers", 64}, {"shared_bytes", 0}}}}};
  return hold_against(*terms, measured, artifact)[0].result;
}

TEST(Prediction, IsHeldFailedOrOpenByItsInterval) {
  EXPECT_EQ(held("gain >= 20 %", verdict(0.3, 0.25, 0.35)), Result::held);
  EXPECT_EQ(held("gain 20%", verdict(0.3, 0.25, 0.35)), Result::held);
  EXPECT_EQ(held("gain >= 40 %", verdict(0.3, 0.25, 0.35)), Result::failed);
  EXPECT_EQ(held("gain >= 30 %", verdict(0.3, 0.25, 0.35)), Result::open);
  EXPECT_EQ(held("gain <= 20 %", verdict(0.3, 0.25, 0.35)), Result::failed);
  EXPECT_EQ(held("gain[decode-1] > 40 %", verdict(0.3, 0.25, 0.35)), Result::held);
  EXPECT_EQ(held("gain[prefill] > 40 %", verdict(0.3, 0.25, 0.35)), Result::not_measured);
  EXPECT_EQ(held("time[decode-1] <= 5 us", verdict(0.3, 0.25, 0.35)), Result::held);
  EXPECT_EQ(held("time[decode-1] < 3.9us", verdict(0.3, 0.25, 0.35)), Result::failed);
  EXPECT_EQ(held("registers <= 64", verdict(0, 0, 0)), Result::held); // the largest kernel's
  EXPECT_EQ(held("registers <= 63", verdict(0, 0, 0)), Result::failed);
  EXPECT_EQ(held("shared <= 2 KiB", verdict(0, 0, 0)), Result::held);
  EXPECT_EQ(held("spills <= 0", verdict(0, 0, 0)), Result::failed);
  EXPECT_EQ(held("gain >= 1 %", {}), Result::not_measured);
}

TEST(Prediction, WhatCannotBeHeldAgainstFiguresIsRefused) {
  for (const char* text : {"", "faster", "gain", "gain >= 20", "gain >= x %", "time <= 5 us",
                           "time[decode-1] <= 5", "gain[nowhere] >= 2 %", "gain[decode-1 >= 2 %",
                           "registers <= 64 %", "gain >= 20 % please"}) {
    const auto terms = parse_prediction(text, k_shapes);
    ASSERT_FALSE(terms) << text;
    EXPECT_EQ(terms.error().kind, base::ErrorKind::usage) << text;
  }
  EXPECT_THAT(parse_prediction("gain[nowhere] >= 2 %", k_shapes).error().allowed,
              HasSubstr("prefill"));
  EXPECT_EQ(parse_prediction("gain >= 2 %; registers <= 64, spills <= 0", k_shapes)->size(), 3u);
  EXPECT_EQ(parse_prediction("gain[M=1,H=2] >= 2 %, spills <= 0", {"M=1,H=2"})->size(), 2u);
}

constexpr const char* k_diff = R"(diff --git a/solution/k.cpp b/solution/k.cpp
index 1..2 100644
--- a/solution/k.cpp
+++ b/solution/k.cpp
@@ -1,2 +1,2 @@ void halve(const float* x)
-  a;
+  b;
@@ -9,2 +9,3 @@ void other(int n)
   c;
+  d;
)";

TEST(Change, ItsWidthIsCounted) {
  const auto width = width_of(k_diff);
  EXPECT_EQ(width.text(), "1 file, 2 functions, 3 lines (+2 -1)");
  EXPECT_EQ(width.functions[1], "solution/k.cpp: void other(int n)");
  EXPECT_THAT(wider_than_one_idea(width), IsEmpty());
  std::string wide = k_diff;
  for (int i = 0; i < 3; ++i) {
    std::string more = k_diff;
    for (std::size_t at; (at = more.find("k.cpp")) != std::string::npos;)
      more.replace(at, 5, "m" + std::to_string(i));
    wide += more;
  }
  EXPECT_THAT(wider_than_one_idea(width_of(wide)), HasSubstr("4 files"));
}

base::Hash normal(const std::string& path, const std::string& text) {
  return normalised_hash(workspace::make_sources({{path, text, false}}));
}

TEST(Change, AnAttemptIsKnownAgainUnderOtherCommentsAndSpaces) {
  const std::string code = "int f(int a) {\n  return a + 1; // one\n}\n";
  EXPECT_EQ(normal("k.cpp", code), normal("k.cpp", "int f( int a )\n{ /* why */ return a+1;}\n\n"));
  EXPECT_NE(normal("k.cpp", code), normal("k.cpp", "int f(int a) { return a + 2; }\n"));
  EXPECT_NE(normal("k.cpp", code), normal("m.cpp", code));
  EXPECT_NE(normal("k.cpp", "int ab;"), normal("k.cpp", "int a b;"));
  EXPECT_NE(normal("k.cpp", "s = \"a  b\";"), normal("k.cpp", "s = \"a b\";"));
  EXPECT_EQ(normal("k.py", "def f(a):\n    return a  # x\n"),
            normal("k.py", "def f( a ):\n\n    return a\n"));
  EXPECT_NE(normal("k.py", "if a:\n    b()\n    c()\n"), normal("k.py", "if a:\n    b()\nc()\n"));
}

ledger::Iteration wrong_at(std::int64_t number, const std::string& shape) {
  ledger::Iteration out;
  out.number = number;
  out.verdict.outcome.kind = model::OutcomeKind::incorrect;
  out.verdict.outcome.evidence = {{"compare", "wrong", {{"shape", shape}}, true}};
  return out;
}

TEST(Stops, CorrectnessThatDependsOnTheShape) {
  StopFacts facts;
  facts.shapes = k_shapes;
  facts.recent = {wrong_at(1, "edge:N=15")};
  EXPECT_THAT(stops(facts), IsEmpty());
  facts.recent.push_back(wrong_at(2, "edge:N=17"));
  ASSERT_EQ(stops(facts).size(), 1u);
  EXPECT_THAT(stops(facts)[0].text, HasSubstr("edge:N=15, edge:N=17"));
  // Wrong everywhere is no matter of shapes.
  facts.recent = {wrong_at(1, "decode-1"), wrong_at(2, "decode-1")};
  EXPECT_THAT(stops(facts), IsEmpty());
}

model::ShapeVerdict shape(const std::string& tag, double weight, double ns, double low) {
  model::ShapeVerdict out;
  out.tag = tag;
  out.weight = weight;
  out.old_ns = ns;
  out.interval = {low, low + 0.1};
  return out;
}

TEST(Stops, AWinWhereProductionHardlyIs) {
  StopFacts facts;
  facts.shapes = k_shapes;
  ledger::Iteration it;
  it.number = 1;
  it.verdict.placements = 3;
  it.verdict.shapes = {shape("decode-1", 1, 1000, 0.2), shape("prefill", 10, 5000, -0.05)};
  facts.recent = {it};
  ASSERT_EQ(stops(facts).size(), 1u);
  EXPECT_THAT(stops(facts)[0].text, HasSubstr("decode-1 alone"));
  facts.recent[0].verdict.shapes = {shape("decode-1", 1, 1000, -0.05),
                                    shape("prefill", 10, 5000, 0.2)};
  EXPECT_THAT(stops(facts), IsEmpty());
}

TEST(Stops, AMicrobenchThatImprovesAloneUntilThePortIsConfirmed) {
  StopFacts facts;
  facts.shapes = k_shapes;
  facts.rejected_iteration = 4;
  facts.rejected_reason = "gate:service: 100 >= 105";
  ASSERT_EQ(stops(facts).size(), 1u);
  EXPECT_EQ(stops(facts)[0].kind, Stop::Kind::micro_only);
  facts.confirmed_iteration = 6;
  EXPECT_THAT(stops(facts), IsEmpty());
}

} // namespace
} // namespace ako::loop
