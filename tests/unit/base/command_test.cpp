#include "base/process.hpp"

#include "base/shell.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ako::base {
namespace {

CommandOptions shell(std::string script) {
  CommandOptions options;
  options.argv = {"/bin/sh", "-c", std::move(script)};
  options.deadline = Deadline::after_seconds(60);
  return options;
}

TEST(Command, CapturesBothStreamsApart) {
  const auto result = run_command(shell("echo out; echo err >&2; exit 5"));
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->ending.text(), "exit 5");
  EXPECT_FALSE(result->ok());
  EXPECT_GT(result->wall_ns, 0);
}

TEST(Command, AWordIsTypedSoThatAShellReadsItBack) {
  for (const std::string word : {"plain", "-I/a/b", "two words", "it's", "\"", "$HOME", "a\\b", "",
                                 "*", "-DTEXT=\"a b\"", "~", "a\nb"}) {
    const auto result = run_command(shell("printf %s " + shell_word(word)));
    ASSERT_TRUE(result);
    EXPECT_EQ(result->out, word);
  }
  EXPECT_EQ(shell_word("-O3"), "-O3");
}

TEST(Command, FloodsOnBothStreamsAreCappedAndCounted) {
  auto options = shell("head -c 300000000 /dev/zero & head -c 200000000 /dev/zero >&2; wait");
  options.capture_bytes = 1000;
  const auto result = run_command(options);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->ok()) << result->ending.text();
  EXPECT_EQ(result->out.size(), 1000u);
  EXPECT_EQ(result->out_dropped, 300000000u - 1000u);
  EXPECT_EQ(result->err.size(), 1000u);
  EXPECT_EQ(result->err_dropped, 200000000u - 1000u);
}

TEST(Command, DeadlineEndsTheWholeGroupAndKeepsWhatWasSaid) {
  auto options = shell("echo before; sleep 600 & sleep 600");
  options.deadline = Deadline::after_seconds(0.5);
  const auto result = run_command(options);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_FALSE(result->ok());
  EXPECT_EQ(result->out, "before\n");
  EXPECT_LT(result->wall_ns, 20'000'000'000);
}

TEST(Command, DeadlineHoldsAgainstAnEndlessPrinter) {
  auto options = shell("yes");
  options.deadline = Deadline::after_seconds(0.5);
  options.capture_bytes = 10;
  const auto result = run_command(options);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->out, "y\ny\ny\ny\ny\n");
  EXPECT_LT(result->wall_ns, 20'000'000'000);
}

TEST(Command, SomebodyWhoLeftTheGroupCannotHoldTheCaller) {
  // The second shell leaves the group and keeps the pipe open; it ends by itself.
  const auto result = run_command(shell("setsid sh -c 'sleep 5' & echo done"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "done\n");
  EXPECT_LT(result->wall_ns, 4'000'000'000);
}

TEST(Command, InputOfAnySizeIsReadAtTheChildsPace) {
  auto options = shell("sleep 0.1; wc -c");
  options.stdin_text.assign(3'000'000, 'x');
  const auto counted = run_command(options);
  ASSERT_TRUE(counted) << counted.error().text();
  EXPECT_EQ(counted->out, "3000000\n");
  options.argv = {"true"}; // one that never reads
  const auto ignored = run_command(options);
  ASSERT_TRUE(ignored);
  EXPECT_TRUE(ignored->ok());
}

TEST(Command, WithoutInputTheChildReadsAnEmptyStream) {
  const auto result = run_command(shell("cat; echo end"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "end\n");
}

TEST(Command, AStreamThatTheCallerNamedIsLeftToThem) {
  auto options = shell("echo hidden; echo seen >&2");
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  options.fds = {{null.get(), 1}};
  const auto result = run_command(options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "");
  EXPECT_EQ(result->err, "seen\n");
}

TEST(Command, AnAbsentProgramIsAnError) {
  CommandOptions options;
  options.argv = {"no-such-program-of-anyone"};
  const auto result = run_command(options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::environment);
  EXPECT_NE(result.error().next.find("install"), std::string::npos);
}

} // namespace
} // namespace ako::base
