#include "base/log.hpp"

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
    progress(0.5, "half"); // stderr is a file here, so nothing is drawn
    progress_done();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, EachLevelSaysWhatItShould) {
  EXPECT_EQ(said_at(LogLevel::quiet), "");
  EXPECT_EQ(said_at(LogLevel::normal), "told 1\n");
  EXPECT_EQ(said_at(LogLevel::verbose), "told 1\nmore 2\n");
}

TEST_F(Log, NothingReachesStdout) {
  testing::internal::CaptureStdout();
  said_at(LogLevel::verbose);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

} // namespace
} // namespace ako::base
