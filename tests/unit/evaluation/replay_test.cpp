// A win on a device is launched again by somebody else before it counts.
#include "evaluation/replay.hpp"

#include <gtest/gtest.h>

namespace ako::evaluation {
namespace {

TEST(ReplayTime, ABentClockIsTold) {
  const auto found =
      replay_time({}, {2000, 2010, 1990, 2000, 2005, 2000}, {4000, 4010, 3990, 4000, 4005, 2000});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->guard, "replay_time");
  EXPECT_TRUE(found->decisive);
  EXPECT_NE(found->text.find("2000 ns a call are claimed"), std::string::npos) << found->text;
}

TEST(ReplayTime, HonestTimesAgreeWithinTheLimit) {
  EXPECT_FALSE(replay_time({}, {2000, 2010, 1990}, {2380, 2350, 2300})) << "a constant";
  EXPECT_FALSE(replay_time({}, {1e6, 1e6, 1e6}, {1.04e6, 1.05e6, 1.03e6})) << "one in twenty";
  EXPECT_FALSE(replay_time({}, {2000, 2000, 2000, 2000}, {4000, 2000, 2000, 4000})) << "half";
  EXPECT_FALSE(replay_time({}, {2000, 2000}, {1000, 1000})) << "the replay may be faster";
  EXPECT_FALSE(replay_time({}, {}, {}));
}

} // namespace
} // namespace ako::evaluation
