#include "protocol/addresses.hpp"
#include "worker/process_state.hpp"
#include "worker/sandbox.hpp"
#include "worker/vault.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
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
    std::signal(SIGSEGV, SIG_DFL); // a sanitizer's own would make it an exit
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

TEST(Sandbox, TheEvictionBufferStaysWhatItIs) {
  using protocol::k_evict_address;
  constexpr std::size_t k_bytes = 1 << 20, k_page = 4096;
  auto* const buffer = reinterpret_cast<std::byte*>(k_evict_address);
  const auto with = [&](const std::function<bool()>& refused) {
    return ending_of([&] {
      const int fd = memfd_create("evict", 0);
      if (fd < 0 || ftruncate(fd, k_bytes) != 0) _exit(9);
      if (mmap(buffer, k_bytes, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) != buffer)
        _exit(8);
      if (!restrict_system_calls() || !seal_memory(Eviction::mapped)) _exit(7);
      _exit(refused() ? 0 : 1);
    });
  };
  const auto anonymous = [](std::byte* at, std::size_t bytes, int flags) {
    return mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0) == MAP_FAILED;
  };
  EXPECT_EQ(with([&] { return anonymous(buffer, k_bytes, MAP_FIXED); }), 0);
  EXPECT_EQ(with([&] { return anonymous(buffer + k_bytes / 2, k_page, MAP_FIXED); }), 0);
  EXPECT_EQ(with([&] { return anonymous(buffer - k_page, 2 * k_page, MAP_FIXED); }), 0)
      << "from below";
  EXPECT_EQ(with([&] { return munmap(buffer, k_bytes) != 0; }), 0);
  EXPECT_EQ(with([&] { return munmap(buffer - k_page, 2 * k_page) != 0; }), 0);
  EXPECT_EQ(with([&] { return madvise(buffer, k_bytes, MADV_DONTNEED) != 0; }), 0);
  EXPECT_EQ(with([&] { return mprotect(buffer, k_page, PROT_NONE) != 0; }), 0);
  EXPECT_EQ(with([&] { return mremap(buffer, k_bytes, k_page, MREMAP_MAYMOVE) == MAP_FAILED; }), 0);
  EXPECT_EQ(with([&] {
              void* own = mmap(nullptr, k_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return mremap(own, k_bytes, k_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, buffer) ==
                     MAP_FAILED;
            }),
            0);
  EXPECT_EQ(with([&] { return syscall(SYS_seccomp, 1, 0, nullptr) < 0 && errno == EPERM; }), 0);
  EXPECT_EQ(with([&] {
              // Everything else goes on as ever.
              void* own = mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return own != MAP_FAILED && mprotect(own, k_page, PROT_READ) == 0 &&
                     madvise(own, k_bytes, MADV_DONTNEED) == 0 && munmap(own, k_bytes) == 0 &&
                     madvise(own, k_bytes, MADV_REMOVE) != 0 && errno == EPERM;
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
