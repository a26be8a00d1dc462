#include "base/log.hpp"
#include "base/progress.hpp"

#include <gtest/gtest.h>

namespace ako::base {
namespace {

class Log : public testing::Test {
protected:
  ~Log() override { set_log_level(LogLevel::normal); }
  static std::string said_at(LogLevel level) {
    set_log_level(level);
    testing::internal::CaptureStderr();
    info("told {}", 1);
    detail("more {}", 2);
    progress(0.5, "half"); // stderr is a file here: nothing is drawn, and no line is due yet
    progress_done();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, EachLevelSaysWhatItShould) {
  EXPECT_EQ(said_at(LogLevel::quiet), "");
  EXPECT_EQ(said_at(LogLevel::normal), "told 1\n");
  EXPECT_EQ(said_at(LogLevel::verbose), "told 1\nmore 2\n");
}

TEST_F(Log, WhereThereIsNoTerminalALineComesNowAndThen) {
  set_progress_interval(0);
  const auto normal = said_at(LogLevel::normal);
  const auto next = said_at(LogLevel::normal);
  EXPECT_EQ(said_at(LogLevel::quiet), "");
  set_progress_interval(10'000'000'000);
  EXPECT_EQ(next, "told 1\n... 50 % half\n");
  EXPECT_TRUE(normal == next || normal == "told 1\n") << "none at the very first: " << normal;
  EXPECT_EQ(said_at(LogLevel::normal), "told 1\n");
}

TEST_F(Log, NothingReachesStdout) {
  testing::internal::CaptureStdout();
  said_at(LogLevel::verbose);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

} // namespace
} // namespace ako::base
