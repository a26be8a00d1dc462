// Blocks on a machine that is not quiet: run again, and given up when it stays so.
#include "fakes/fake_stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako {
namespace {

using fakes::Moment;
using fakes::World;
using model::OutcomeKind;
using testing::HasSubstr;

int flagged(const evaluation::Report& report, std::uint32_t flag) {
  int out = 0;
  for (const auto& row : report.samples.rows) out += (row.flags & flag) != 0;
  return out;
}

TEST(Disturbed, ABlockThatLostTimeToOthersIsRunAgainAndBothRunsAreKept) {
  World world;
  int blocks = 0;
  world.waiting = [&](const Moment&) { return ++blocks == 6 ? 0.06 : 0.0; }; // 3 % of its pair
  world.noise = 0;
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::equivalent) << report.verdict.outcome.reason;
  EXPECT_EQ(flagged(report, model::sample_flag::disturbed), 0);
  blocks = 0;
  world.waiting = [&](const Moment&) { return ++blocks == 5 || blocks == 6 ? 0.99 : 0.0; };
  const auto again = world.evaluate();
  EXPECT_EQ(again.verdict.outcome.kind, OutcomeKind::equivalent) << again.verdict.outcome.reason;
  EXPECT_EQ(flagged(again, model::sample_flag::disturbed), 2);
  EXPECT_EQ(flagged(again, model::sample_flag::repeated), 2);
  EXPECT_EQ(again.machine.at("blocks_disturbed"), 1);
  EXPECT_GT(again.machine.at("blocks_run"), 1);
}

TEST(Disturbed, AMachineThatNeverGetsQuietIsInvalidAndSaysWhy) {
  World world;
  world.waiting = [](const Moment&) { return 0.9; };
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::invalid_measurement);
  EXPECT_EQ(report.verdict.outcome.fault, model::Fault::machine);
  EXPECT_THAT(report.verdict.outcome.reason, HasSubstr("foreign work took 90.0 %"));
  EXPECT_EQ(flagged(report, model::sample_flag::disturbed),
            static_cast<int>(report.samples.rows.size()));
}

TEST(Disturbed, ALoadBelowTheLimitIsLived) {
  World world;
  world.waiting = [](const Moment&) { return 0.04; };
  EXPECT_EQ(world.evaluate().verdict.outcome.kind, OutcomeKind::equivalent);
}

TEST(Disturbed, AClockThatStaysAwayFromItsMedianIsSeen) {
  World world;
  world.clock = [](int look) { return look < 20 ? 3.0 : 1.5; };
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::invalid_measurement);
  EXPECT_THAT(report.verdict.outcome.reason, HasSubstr("the clock stood at"));
  World steady;
  steady.clock = [](int look) { return look < 20 ? 3.0 : 2.95; };
  EXPECT_EQ(steady.evaluate().verdict.outcome.kind, OutcomeKind::equivalent);
}

TEST(Disturbed, BlockStatesAreRecordedOneAPair) {
  World world;
  world.noise = 0;
  const auto report = world.evaluate();
  EXPECT_EQ(report.samples.blocks.size(), report.samples.rows.size() / 2);
  for (const auto& block : report.samples.blocks) {
    EXPECT_EQ(block.clock_ratio, 1);
    EXPECT_GT(block.parent_wall_ns, 0);
  }
}

} // namespace
} // namespace ako
