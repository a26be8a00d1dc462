#include "base/process.hpp"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ako::base {
namespace {

SpawnOptions spawned_shell(std::string script) {
  SpawnOptions options;
  options.argv = {"/bin/sh", "-c", std::move(script)};
  return options;
}

Process must_spawn(const SpawnOptions& options) {
  auto process = Process::spawn(options);
  if (!process) {
    ADD_FAILURE() << process.error().text();
    std::abort();
  }
  return std::move(*process);
}

/// True once no process of this number runs any more (a zombie that nobody reaps does not run).
bool gone_within(pid_t pid, double seconds) {
  const Deadline deadline = Deadline::after_seconds(seconds);
  for (;;) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    if (!std::getline(stat, line) || line.find(") Z") != std::string::npos) return true;
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// Reads the number that a child printed into a pipe.
pid_t number_from(int fd) {
  std::string text;
  char c = 0;
  while (read(fd, &c, 1) == 1 && c != '\n') text += c;
  return static_cast<pid_t>(std::stol("0" + text));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::int64_t k_bare_bytes = 1 << 30; // what this process holds counts until the exec
#else
constexpr std::int64_t k_bare_bytes = 32 << 20;
#endif

TEST(Process, TellsHowMuchMemoryItHeldAndThoseThatItWaitedFor) {
  auto small = must_spawn(spawned_shell("exit 0"));
  // 64 MiB in a process that the shell waits for.
  auto large =
      must_spawn(spawned_shell("dd if=/dev/zero of=/dev/null bs=64M count=1 2>/dev/null; exit 0"));
  const auto a = small.wait(Deadline::after_seconds(20)),
             b = large.wait(Deadline::after_seconds(20));
  ASSERT_TRUE(a && b);
  EXPECT_GT(a->peak_bytes, 0);
  EXPECT_LT(a->peak_bytes, k_bare_bytes);
  EXPECT_GT(b->peak_bytes, 64 << 20);
}

TEST(Process, EndsWithItsCodeOrSignal) {
  auto coded = must_spawn(spawned_shell("exit 3"));
  const auto code = coded.wait(Deadline::after_seconds(20));
  ASSERT_TRUE(code) << code.error().text();
  EXPECT_EQ(code->text(), "exit 3");
  auto killed = must_spawn(spawned_shell("kill -SEGV $$"));
  const auto signal = killed.wait(Deadline::after_seconds(20));
  ASSERT_TRUE(signal) << signal.error().text();
  EXPECT_FALSE(signal->exited);
  EXPECT_EQ(signal->text(), "signal 11 (SIGSEGV)");
  EXPECT_EQ(killed.wait(Deadline::never())->text(), "signal 11 (SIGSEGV)") << "asked twice";
}

TEST(Process, WhatCannotStartIsAnErrorNotAnEnding) {
  SpawnOptions options;
  options.argv = {"no-such-program-of-anyone"};
  const auto absent = Process::spawn(options);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::environment);
  options.argv = {"/etc/passwd"};
  const auto not_a_program = Process::spawn(options);
  ASSERT_FALSE(not_a_program);
  EXPECT_NE(not_a_program.error().found.find("exec: Permission denied"), std::string::npos)
      << not_a_program.error().text();
  options = spawned_shell("exit 0");
  options.cwd = "/no/such/folder";
  const auto nowhere = Process::spawn(options);
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().found.find("working folder"), std::string::npos);
}

TEST(Process, PassesArgumentsEnvironmentAndFolder) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options =
      spawned_shell("printf '%s|%s|%s|%s' \"$1\" \"$PWD\" \"$GIVEN\" \"${HOME-none}\"");
  options.argv.insert(options.argv.end(), {"name", "a b \"ü\""});
  options.env = std::vector<std::string>{"GIVEN=x=y"};
  options.cwd = "/usr";
  options.fds = {{pipe->second.get(), 1}};
  auto process = must_spawn(options);
  pipe->second.reset();
  ASSERT_TRUE(process.wait(Deadline::after_seconds(20)));
  char buffer[200] = {};
  ASSERT_GT(read(pipe->first.get(), buffer, sizeof buffer - 1), 0);
  EXPECT_STREQ(buffer, "a b \"ü\"|/usr|x=y|none");
}

TEST(Process, ChildSeesTheNamedDescriptorsAndNoOthers) {
  auto leak = make_pipe();
  auto pipe = make_pipe();
  ASSERT_TRUE(leak && pipe);
  // Without close-on-exec only the spawner can close it; the number lies past those that are named.
  const int inheritable = fcntl(leak->first.get(), F_DUPFD, 20);
  ASSERT_GE(inheritable, 20);
  SpawnOptions options = spawned_shell("ls /proc/self/fd | tr '\\n' ' ' >&7");
  options.fds = {{pipe->second.get(), 7}};
  auto process = must_spawn(options);
  pipe->second.reset();
  ASSERT_TRUE(process.wait(Deadline::after_seconds(20)));
  char buffer[200] = {};
  ASSERT_GT(read(pipe->first.get(), buffer, sizeof buffer - 1), 0);
  EXPECT_STREQ(buffer, "0 1 2 3 7 ") << "3 is ls's own look at the folder";
  close(inheritable);
}

TEST(Process, SwapsDescriptorsWhoseNumbersOverlap) {
  auto one = make_pipe();
  auto two = make_pipe();
  ASSERT_TRUE(one && two);
  const int a = one->second.get(), b = two->second.get();
  SpawnOptions options =
      spawned_shell("echo to-a >&" + std::to_string(b) + "; echo to-b >&" + std::to_string(a));
  if (a > 9 || b > 9) { // the shell takes one digit: use numbers that it can name, still crossed
    ASSERT_EQ(dup2(a, 8), 8);
    ASSERT_EQ(dup2(b, 9), 9);
    options = spawned_shell("echo to-a >&9; echo to-b >&8");
    options.fds = {{8, 9}, {9, 8}};
  } else {
    options.fds = {{a, b}, {b, a}};
  }
  auto process = must_spawn(options);
  ASSERT_TRUE(process.wait(Deadline::after_seconds(20)));
  if (options.fds[0].first == 8) {
    close(8);
    close(9);
  }
  char buffer[20] = {};
  ASSERT_EQ(read(one->first.get(), buffer, sizeof buffer), 5);
  EXPECT_STREQ(buffer, "to-a\n");
  ASSERT_EQ(read(two->first.get(), buffer, sizeof buffer), 5);
  EXPECT_STREQ(buffer, "to-b\n");
}

TEST(Process, DeadlineLeavesItRunningAndTheDestructorEndsTheWholeGroup) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  pid_t leader = -1, grandchild = -1;
  {
    SpawnOptions options = spawned_shell("sleep 600 & echo $!; wait");
    options.fds = {{pipe->second.get(), 1}};
    auto process = must_spawn(options);
    leader = process.pid();
    EXPECT_EQ(getpgid(leader), leader);
    grandchild = number_from(pipe->first.get());
    const auto late = process.wait(Deadline::after_seconds(0.05));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, ErrorKind::timeout);
    EXPECT_TRUE(process.running());
    EXPECT_FALSE(gone_within(grandchild, 0));
  }
  EXPECT_TRUE(gone_within(leader, 10));
  EXPECT_TRUE(gone_within(grandchild, 10));
}

/// What a child of a killed process had said by its own end, or up to its death.
std::string said_when_orphaned(SpawnOptions::Orphaned orphaned) {
  auto pipe = make_pipe();
  EXPECT_TRUE(pipe);
  const pid_t parent = fork();
  if (parent == 0) {
    SpawnOptions options =
        spawned_shell("trap 'echo told; exit' TERM; echo begun; sleep 0.4 & wait; echo ended");
    options.fds = {{pipe->second.get(), 1}};
    options.orphaned = orphaned;
    auto process = Process::spawn(options);
    if (process) static_cast<void>(process->wait(Deadline::never()));
    _exit(0);
  }
  pipe->second.reset();
  std::string said;
  char buffer[64];
  for (ssize_t got = 0; (got = read(pipe->first.get(), buffer, sizeof buffer)) > 0;) {
    if (said.empty()) kill(parent, SIGKILL);
    said.append(buffer, static_cast<std::size_t>(got));
  }
  waitpid(parent, nullptr, 0);
  return said;
}

TEST(Process, AChildWhoseParentIsKilledGoesTooOrIsToldOrGoesOn) {
  EXPECT_EQ(said_when_orphaned(SpawnOptions::Orphaned::killed), "begun\n");
  EXPECT_EQ(said_when_orphaned(SpawnOptions::Orphaned::told), "begun\ntold\n");
  EXPECT_EQ(said_when_orphaned(SpawnOptions::Orphaned::goes_on), "begun\nended\n");
}

TEST(Process, LeftoversOfAnEndedLeaderAreEndedToo) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options = spawned_shell("sleep 600 & echo $!; exit 0");
  options.fds = {{pipe->second.get(), 1}};
  auto process = must_spawn(options);
  const pid_t leftover = number_from(pipe->first.get());
  const auto ending = process.wait(Deadline::after_seconds(20));
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->text(), "exit 0");
  EXPECT_TRUE(gone_within(leftover, 10));
}

TEST(Process, SignalsReachTheWholeGroup) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options =
      spawned_shell("sleep 600 & trap 'echo told' TERM; echo $!; wait; wait; sleep 600");
  options.fds = {{pipe->second.get(), 1}};
  auto process = must_spawn(options);
  const pid_t member = number_from(pipe->first.get()); // printed after the trap was set
  process.signal_group(SIGTERM);
  EXPECT_TRUE(gone_within(member, 10)) << "the leader lives on, its group member does not";
  EXPECT_TRUE(process.running());
}

TEST(Process, AnEndedGroupIsNeverSignalledAgain) {
  auto process = must_spawn(spawned_shell("exit 0"));
  ASSERT_TRUE(process.wait(Deadline::after_seconds(20)));
  process.signal_group(SIGKILL); // the number may belong to others by now
  process.kill_group();
  EXPECT_EQ(process.wait(Deadline::never())->text(), "exit 0");
}

TEST(Process, ThePidfdPollsReadableAtTheEnd) {
  auto process = must_spawn(spawned_shell("exit 0"));
  pollfd entry{process.pidfd(), POLLIN, 0};
  ASSERT_EQ(poll(&entry, 1, 20'000), 1);
  EXPECT_FALSE(process.running());
}

TEST(Process, SignalStateOfTheParentDoesNotReachTheChild) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options;
  options.argv = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"};
  options.fds = {{pipe->second.get(), 1}};
  auto process = must_spawn(options);
  ASSERT_TRUE(process.wait(Deadline::after_seconds(20)));
  std::signal(SIGPIPE, old);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  char buffer[200] = {};
  ASSERT_GT(read(pipe->first.get(), buffer, sizeof buffer - 1), 0);
  EXPECT_STREQ(buffer, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Process, LimitsHoldInTheChildAlone) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options =
      spawned_shell("ulimit -n; ulimit -c; ulimit -t; ulimit -s; ulimit -f; ulimit -u");
  options.fds = {{pipe->second.get(), 1}};
  options.limits = {.file_bytes = 512 * 1024,
                    .open_files = 33,
                    .processes = 77,
                    .cpu_seconds = 44,
                    .core_bytes = 5 * 1024,
                    .stack_bytes = 1024 * 1024};
  options.argv[0] = "/bin/bash"; // dash knows no -u
  auto process = must_spawn(options);
  const auto ending = process.wait(Deadline::after_seconds(20));
  ASSERT_TRUE(ending);
  char buffer[200] = {};
  ASSERT_GT(read(pipe->first.get(), buffer, sizeof buffer - 1), 0);
  EXPECT_STREQ(buffer, "33\n5\n44\n1024\n512\n77\n");
  rlimit own{};
  getrlimit(RLIMIT_NOFILE, &own);
  EXPECT_GT(own.rlim_cur, 33u);
}

TEST(Process, BeforeExecRunsInTheChildAndCanRefuse) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options = spawned_shell("exit 0");
  options.fds = {{pipe->second.get(), 5}};
  options.before_exec = [] { return write(5, "x", 1) == 1 ? 0 : 1; };
  auto willing = must_spawn(options);
  EXPECT_EQ(willing.wait(Deadline::after_seconds(20))->text(), "exit 0");
  char byte = 0;
  EXPECT_EQ(read(pipe->first.get(), &byte, 1), 1);
  options.before_exec = [] { return 1; };
  auto unwilling = must_spawn(options);
  EXPECT_EQ(unwilling.wait(Deadline::after_seconds(20))->text(), "exit 127");
}

TEST(Process, ChildrenDieWithTheirParent) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const pid_t parent = fork();
  if (parent == 0) {
    SpawnOptions options = spawned_shell("echo $$; exec sleep 600");
    options.fds = {{pipe->second.get(), 1}};
    auto process = Process::spawn(options);
    pause(); // killed here
    _exit(0);
  }
  const pid_t child = number_from(pipe->first.get());
  ASSERT_GT(child, 1);
  EXPECT_FALSE(gone_within(child, 0.05));
  kill(parent, SIGKILL);
  int status = 0;
  EXPECT_EQ(waitpid(parent, &status, 0), parent);
  EXPECT_TRUE(gone_within(child, 10));
}

TEST(Process, MovingHandsTheChildOver) {
  auto first = must_spawn(spawned_shell("sleep 600"));
  const pid_t first_pid = first.pid();
  auto second = must_spawn(spawned_shell("exit 4"));
  first = std::move(second); // ends what `first` held
  EXPECT_TRUE(gone_within(first_pid, 10));
  EXPECT_EQ(first.wait(Deadline::after_seconds(20))->text(), "exit 4");
}

} // namespace
} // namespace ako::base
