// Shapes that do not fit into memory: named, nobody's guilt, and never measured without being
// judged.
#include "fakes/fake_stage.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako {
namespace {

using fakes::World;
using model::OutcomeKind;
using testing::HasSubstr;

int measured(const World& world) {
  return static_cast<int>(std::count(world.log.begin(), world.log.end(), "call incumbent"));
}

/// One content of N=4096 needs 96 KiB with everything around it, two need twice that.
evaluation::Report evaluate(World& world, std::int64_t memory_bytes) {
  auto contract = world.contract();
  contract.limits.memory_bytes = memory_bytes;
  auto request = world.request();
  request.contract = &contract;
  auto report = evaluation::evaluate(request, world.factory());
  EXPECT_TRUE(report) << (report ? "" : report.error().text());
  return report ? *report : evaluation::Report{};
}

TEST(Memory, AContractShapeBeyondItIsNamedAndNotMeasured) {
  World world({64, 4096});
  world.candidate.ns = [](const fakes::Moment&) { return 50e3; };
  const auto report = evaluate(world, 50'000);
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::environment);
  EXPECT_EQ(report.verdict.outcome.fault, model::Fault::machine);
  EXPECT_THAT(report.verdict.outcome.reason,
              HasSubstr("too little memory to judge shape N=4096: needs 0.1 MiB"));
  EXPECT_EQ(measured(world), 0);
}

TEST(Memory, OneContentIsEnoughWhereTwoDoNotFit) {
  World world({4096});
  const auto report = evaluate(world, 150'000);
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::equivalent) << report.verdict.outcome.reason;
  int found = 0;
  for (const auto& line : report.correctness.at("cases"))
    if (line.at("shape") == "N=4096") {
      EXPECT_EQ(line.at("sets"), 1);
      ++found;
    }
  EXPECT_GT(found, 0);
}

TEST(Memory, WhatNobodyLooksAtIsOnRecordOnce) {
  World world({64});
  world.candidate.ns = [](const fakes::Moment&) { return 50e3; };
  auto request = world.request();
  request.unproven = {"edge:N=99: too large"};
  request.hidden.clear();
  auto report = evaluation::evaluate(request, world.factory());
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_EQ(report->verdict.outcome.kind, OutcomeKind::improved) << report->verdict.outcome.reason;
  EXPECT_EQ(
      report->correctness.at("unproven"),
      base::Json::array({"edge:N=99: too large",
                         "sizes that nobody knows: the axes leave none that is small enough"}));
}

TEST(Memory, AnEdgeBeyondItIsLeftOutByName) {
  World world({64});
  const auto report = evaluate(world, 50'000);
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::equivalent) << report.verdict.outcome.reason;
  ASSERT_EQ(report.correctness.at("unproven").size(), 1u);
  EXPECT_THAT(report.correctness.at("unproven")[0].get<std::string>(),
              HasSubstr("edge:N=4096: needs"));
}

} // namespace
} // namespace ako
