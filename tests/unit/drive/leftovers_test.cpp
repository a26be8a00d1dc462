// Whatever a turn leaves running is ended, however it hides.
#include "drive/leftovers.hpp"

#include "base/fd.hpp"
#include "base/fs.hpp"
#include "base/process.hpp"
#include "drive/alone.hpp"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::drive {
namespace {

namespace fs = base::fs;

class LeftoversTest : public testing::Test {
protected:
  LeftoversTest() : m_folder(std::move(*base::TemporaryDir::make("leftovers"))) {}
  /// Runs `body` in a process that nobody waits for, in a session of its own.
  template <class Body> void start(Body body) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      ::clearenv();
      ::setsid();
      body();
      ::_exit(0);
    }
  }
  void beat() const { static_cast<void>(base::write_file_atomic(m_folder.path() / "beat", "x")); }
  /// Whether anybody writes there still.
  bool is_alive() const {
    std::error_code why;
    fs::remove(m_folder.path() / "beat", why);
    ::usleep(300'000);
    return fs::exists(m_folder.path() / "beat", why);
  }
  base::TemporaryDir m_folder;
};

TEST_F(LeftoversTest, AChainThatLosesAGenerationAtEveryLookIsEnded) {
  const Subreaper keeper;
  start([this] {
    // Each lives a moment and leaves a child in another session: for a minute, if nobody ends it.
    for (int generation = 0; generation < 20'000; ++generation) {
      ::usleep(3'000);
      if (::fork() != 0) ::_exit(0);
      ::setsid();
      beat();
    }
  });
  ::usleep(100'000);
  ASSERT_TRUE(is_alive());
  const auto ended = end_leftovers("a token that nobody carries");
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_GE(*ended, 1);
  EXPECT_FALSE(is_alive());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(LeftoversTest, ManyAtOnceAndThoseBelowThem) {
  const Subreaper keeper;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const base::UniqueFd from(ready[0]), to(ready[1]);
  for (int i = 0; i < 4; ++i)
    start([this, &to] {
      for (int below = 0; below < 4; ++below)
        if (::fork() == 0) ::setsid();
      static_cast<void>(!::write(to.get(), "x", 1));
      for (;;) {
        beat();
        ::usleep(20'000);
      }
    });
  constexpr int k_all = 64; // 2^4 of each
  char said = 0;
  for (int i = 0; i < k_all; ++i) ASSERT_EQ(::read(from.get(), &said, 1), 1);
  const auto ended = end_leftovers("none");
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_EQ(*ended, k_all);
  EXPECT_FALSE(is_alive());
}

TEST_F(LeftoversTest, WhoCarriesTheTokenIsFoundWithThoseBelowItWhoeverItsParentIs) {
  // Nobody's child here any more, as after a killed driver; one below it has no environment at all.
  const pid_t between = ::fork();
  ASSERT_GE(between, 0);
  if (between == 0) {
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    const std::string beat = "'" + (m_folder.path() / "beat").string() + "'";
    const std::string script = "env -i /bin/sh -c \"while :; do echo > " + beat +
                               "; /bin/sleep 0.02; done\" & while :; do /bin/sleep 1; done";
    ::setenv("AKO_TURN_TOKEN", "of-this-test", 1);
    ::execl("/bin/sh", "/bin/sh", "-c", script.c_str(), nullptr);
    ::_exit(1);
  }
  ::waitpid(between, nullptr, 0);
  ::usleep(200'000);
  ASSERT_TRUE(is_alive());
  const auto ended = end_leftovers("of-this-test");
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_GE(*ended, 2);
  EXPECT_FALSE(is_alive());
}

TEST_F(LeftoversTest, InAWorldOfItsOwnAllEndsWithTheFirst) {
  if (!can_be_alone()) GTEST_SKIP() << "this kernel or user has no pid namespaces";
  base::CommandOptions options;
  options.argv = {"/bin/sh", "-c",
                  "(env -i setsid /bin/sh -c 'while :; do echo > \"$0\"; /bin/sleep 0.02; done' "
                  "\"$1\" &) ; /bin/sleep 0.2; test $$ -lt 5 && exit 7",
                  "sh", (m_folder.path() / "beat").string()};
  options.before_exec = enter_alone;
  auto result = base::run_command(options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->ending.text(), "exit 7");
  EXPECT_FALSE(is_alive());
  options.argv = {"/bin/sh", "-c", "kill -SEGV $$"};
  result = base::run_command(options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->ending.signal, SIGSEGV);
  options.argv = {"/no/such/program"};
  EXPECT_FALSE(base::run_command(options));
}

TEST_F(LeftoversTest, WithNobodyLeftNothingIsDone) {
  const auto ended = end_leftovers("none");
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, 0);
}

} // namespace
} // namespace ako::drive
