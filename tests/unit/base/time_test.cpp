#include "base/time.hpp"

#include <climits>
#include <cmath>
#include <gtest/gtest.h>
#include <thread>

namespace ako::base {
namespace {

TEST(Time, StampsAreUtcWithMilliseconds) {
  EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_time(1769862896'789'000'000), "2026-01-31T12:34:56.789Z");
  EXPECT_EQ(iso_time(951782400'000'000'000), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(iso_time(-1'000'000), "1969-12-31T23:59:59.999Z");
}

TEST(Time, DeadlinesPass) {
  const Deadline soon = Deadline::after_ns(30'000'000);
  EXPECT_FALSE(soon.passed());
  EXPECT_GT(soon.remaining_ms(), 0);
  EXPECT_LE(soon.remaining_ms(), 30);
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  EXPECT_TRUE(soon.passed());
  EXPECT_EQ(soon.remaining_ms(), 0);
}

TEST(Time, BoundsAreSafe) {
  EXPECT_EQ(Deadline::never().remaining_ms(), -1);
  EXPECT_FALSE(Deadline::never().passed());
  EXPECT_EQ(Deadline::after_seconds(1e300).remaining_ms(), -1);
  EXPECT_EQ(Deadline::after_ns(INT64_MAX).remaining_ms(), -1);
  EXPECT_EQ(Deadline::after_seconds(1e8).remaining_ms(), INT_MAX);
  EXPECT_TRUE(Deadline::after_seconds(NAN).passed()) << "a broken bound does not wait for ever";
  EXPECT_TRUE(Deadline::after_seconds(-1).passed());
  EXPECT_EQ(Deadline::after_ns(1'000'100).remaining_ms() == 0, false) << "rounded up";
}

} // namespace
} // namespace ako::base
