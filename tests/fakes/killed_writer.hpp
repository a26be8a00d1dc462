// A process that is killed in the middle of a write: the kernel ends it at a limit on file sizes.
#pragma once

#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::test {

/// Runs `body` in a child of ours that dies, as by SIGKILL, at the first byte past `most` that it
/// writes into any file.
inline void killed_while_writing(rlim_t most, const std::function<void()>& body) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{most, most}, none{0, 0};
    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &limit);
    body();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
      << "it was not killed: " << status;
}

} // namespace ako::test
