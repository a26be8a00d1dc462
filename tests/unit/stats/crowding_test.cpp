// Calls that had their core to themselves: told by the probe, whatever their own times say.
#include "stats/crowding.hpp"

#include <gtest/gtest.h>

namespace {

using ako::stats::free_core;
using ako::stats::free_time;
using ako::stats::Stretch;

TEST(Crowding, FreeCoreIsNotTheLowestReading) {
  std::vector<double> readings(200, 2.6);
  for (int i = 0; i < 20; ++i) readings[static_cast<std::size_t>(i)] = 1.5 + 0.001 * i;
  readings[100] = 0.02; // an interrupt stretched the chain that it is measured against
  EXPECT_NEAR(free_core(readings), 1.5, 0.01);
  EXPECT_EQ(free_core({}), 0);
  EXPECT_EQ(free_core({0, -1, 0}), 0);
  EXPECT_EQ(free_core({1.7}), 1.7);
}

TEST(Crowding, TimeIsOfTheFreeCallsAlone) {
  const std::vector<Stretch> block = {
      {200, 2, 1.52}, {900, 3, 2.4}, {110, 1, 1.58}, {90, 1, 1.65}, {5, 1, 0}};
  EXPECT_DOUBLE_EQ(free_time(block, 1.5).value(), 310 / 3.0);
  EXPECT_FALSE(free_time(block, 1.0));
  EXPECT_FALSE(free_time({}, 1.5));
}

// Slow calls on a free core count, fast ones on a crowded core do not: nobody is flattered.
TEST(Crowding, OwnTimesDecideNothing) {
  const std::vector<Stretch> block = {{1000, 1, 1.5}, {10, 1, 2.0}};
  EXPECT_DOUBLE_EQ(free_time(block, 1.5).value(), 1000);
}

} // namespace
