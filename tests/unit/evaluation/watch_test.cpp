// The machine during a pair of blocks.
#include "evaluation/watch.hpp"

#include "fakes/fake_stage.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace ako::evaluation {
namespace {

/// One whose timed part took `timed` ns, of which `wait` went to others.
client::SampleReport block(std::int64_t timed, std::int64_t wait) {
  client::SampleReport out;
  out.first_ns = 5000;
  out.last_ns = out.first_ns + timed;
  out.parent_wall_ns = 3 * timed;
  out.parent_wait_ns = wait;
  out.cpu_ns = timed - wait;
  return out;
}

class WatchTest : public testing::Test {
protected:
  Watch::Seen pair(std::vector<client::SampleReport> blocks) {
    EXPECT_TRUE(m_watch.begin());
    for (const auto& one : blocks) m_watch.add(one);
    auto seen = m_watch.end();
    EXPECT_TRUE(seen);
    return seen ? *seen : Watch::Seen{};
  }
  double m_clock = 3;
  fakes::World m_world;
  std::unique_ptr<Stage> m_stage = [this] {
    m_world.clock = [this](int) { return m_clock; };
    return fakes::make_fake_stage(m_world);
  }();
  Watch m_watch{*m_stage};
};

TEST_F(WatchTest, ForeignLoadIsTheShareThatTheWorkersWaited) {
  EXPECT_DOUBLE_EQ(pair({block(1000, 100), block(3000, 900)}).watch.foreign_load, 0.25);
  EXPECT_DOUBLE_EQ(pair({block(1000, 0)}).watch.foreign_load, 0); // each pair anew
  EXPECT_DOUBLE_EQ(pair({}).watch.foreign_load, 0);
}

TEST_F(WatchTest, WakingUpToABlockIsNotForeignWork) {
  auto late = block(1'000'000, 0);
  late.parent_wait_ns = 800'000; // it waited, and yet was at work for all of the timed part
  EXPECT_DOUBLE_EQ(pair({late}).watch.foreign_load, 0);
  late.cpu_ns = 1'002'000; // its clock was read around the span: one thread all the same
  EXPECT_DOUBLE_EQ(pair({late}).watch.foreign_load, 0);
  auto team = block(1'000'000, 0);
  team.cpu_ns = 4'000'000; // several threads: what they waited for cannot be told apart
  team.parent_wait_ns = 300'000;
  EXPECT_DOUBLE_EQ(pair({team}).watch.foreign_load, 0.3);
}

TEST_F(WatchTest, TheClockIsHeldAgainstTheMedianOfAllItHasSeen) {
  for (int i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(pair({block(1000, 0)}).watch.clock_ratio, 1);
  m_clock = 1.5;
  const auto seen = pair({block(1000, 0)});
  EXPECT_DOUBLE_EQ(seen.watch.clock_ratio, 0.5);
  EXPECT_EQ(seen.state.clock_ratio, seen.watch.clock_ratio);
  m_clock = 3;
  EXPECT_DOUBLE_EQ(pair({block(1000, 0)}).watch.clock_ratio, 1);
}

TEST_F(WatchTest, AClockThatCannotBeReadIsNoClock) {
  for (double bad : {0.0, std::nan(""), HUGE_VAL}) {
    m_clock = bad;
    EXPECT_DOUBLE_EQ(pair({block(1000, 0)}).watch.clock_ratio, 1);
  }
}

} // namespace
} // namespace ako::evaluation
