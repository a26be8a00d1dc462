#include "worker/process_state.hpp"
#include "worker/sandbox.hpp"
#include "worker/vault.hpp"

#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::worker {
namespace {

using testing::Contains;
using testing::IsEmpty;

TEST(ProcessState, NoticesWhatChangedAndPutsItBack) {
  const auto state = ProcessState::capture();
  EXPECT_THAT(state.restore(), IsEmpty());
  const auto mask = umask(0);
  umask(mask ^ 022);
  std::signal(SIGUSR2, SIG_IGN);
  alarm(1000);
  const auto changed = state.restore();
  EXPECT_THAT(changed, Contains("umask"));
  EXPECT_THAT(changed, Contains("signal:12"));
  EXPECT_THAT(changed, Contains("timer"));
  EXPECT_THAT(state.restore(), IsEmpty());
  EXPECT_EQ(alarm(0), 0u);
}

TEST(ProcessState, CountsThreads) { EXPECT_GE(thread_count(), 1); }

/// How a child ends that runs `body` with part of the sandbox.
int ending_of(const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(Sandbox, ForbiddenCallsEndInSigsysAndOthersWork) {
  EXPECT_EQ(ending_of([] {
              if (!restrict_system_calls()) _exit(3);
              ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            }),
            -SIGSYS);
  EXPECT_EQ(ending_of([] {
              if (!restrict_system_calls()) _exit(3);
              kill(getpid(), 0);
              getppid();
            }),
            0);
}

TEST(Sandbox, FilesOutsideTheFolderAreOutOfReach) {
  char folder[] = "/tmp/ako-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  SandboxPlan plan;
  plan.scratch = folder;
  const int code = ending_of([&] {
    if (!enter_sandbox(plan).landlock) _exit(9); // a kernel without it
    if (open((std::string(folder) + "/own").c_str(), O_WRONLY | O_CREAT, 0600) < 0) _exit(1);
    if (open("/etc/passwd", O_RDONLY) >= 0) _exit(2);
    if (open("/tmp/ako-mark", O_WRONLY | O_CREAT, 0600) >= 0) _exit(4);
    if (open("/usr/bin/env", O_RDONLY) < 0) _exit(5);
  });
  unlink((std::string(folder) + "/own").c_str());
  rmdir(folder);
  if (code == 9) GTEST_SKIP() << "no Landlock on this kernel";
  EXPECT_EQ(code, 0);
}

TEST(Vault, IsOutOfReachWhileLocked) {
  Vault vault;
  auto& secrets = vault.open();
  secrets.request_id = 77;
  const auto* address = reinterpret_cast<volatile std::uint64_t*>(&secrets.request_id);
  vault.lock();
  EXPECT_EQ(ending_of([&] { (void)*address; }), -SIGSEGV);
  EXPECT_EQ(vault.open().request_id, 77u);
}

} // namespace
} // namespace ako::worker
