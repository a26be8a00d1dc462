#include "drive/alone.hpp"

#include "base/process.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::drive {
namespace {

constexpr int k_no_world = 127;

/// "ID ID 1", without what a signal handler might not do.
void write_map(const char* path, unsigned id) {
  char number[12], text[32];
  std::size_t digits = sizeof number, at = 0;
  do number[--digits] = static_cast<char>('0' + id % 10);
  while ((id /= 10) != 0);
  for (int twice = 0; twice < 2; ++twice) {
    for (std::size_t i = digits; i < sizeof number; ++i) text[at++] = number[i];
    text[at++] = ' ';
  }
  text[at++] = '1';
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t ignored = ::write(fd, text, at);
  static_cast<void>(ignored);
  ::close(fd);
}

void deny_groups() {
  const int fd = ::open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t ignored = ::write(fd, "deny", 4);
  static_cast<void>(ignored);
  ::close(fd);
}

/// Root has it for the asking; others within a user namespace, their own numbers kept.
bool leave_namespaces() {
  if (::unshare(CLONE_NEWPID | CLONE_NEWNS) == 0) return true;
  const unsigned uid = ::geteuid(), gid = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0) return false;
  deny_groups();
  write_map("/proc/self/gid_map", gid);
  write_map("/proc/self/uid_map", uid);
  return ::geteuid() == uid && ::getegid() == gid;
}

/// All but 0, 1, 2 and `kept`: whoever waits must not keep open what the command closes.
void close_others(unsigned kept) {
  const auto close_from = [](unsigned first, unsigned last) {
    if (first > last || ::syscall(SYS_close_range, first, last, 0) == 0) return;
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    for (unsigned fd = first; fd <= last && fd < limit.rlim_cur; ++fd)
      ::close(static_cast<int>(fd));
  };
  close_from(3, kept - 1);
  close_from(kept + 1, UINT_MAX);
}

int status_of(pid_t wanted) {
  int status = 0;
  for (;;) {
    const pid_t pid = ::waitpid(-1, &status, 0);
    if (pid == wanted) return status;
    if (pid < 0 && errno != EINTR) return k_no_world << 8;
  }
}

[[noreturn]] void end_as(int status) {
  if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(WTERMSIG(status), SIG_DFL);
  ::kill(::getpid(), WTERMSIG(status));
  ::_exit(128 + WTERMSIG(status));
}

/// The first process of the new world: signals do not end it by default, so the command is its
/// child. It ends when that does, and with it whoever else is there.
int be_the_first(int status_fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd waited_for{status_fd, 0, 0};
  if (::poll(&waited_for, 1, 0) > 0) ::_exit(k_no_world); // whoever waits is gone already
  const bool own_proc =
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
      ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
  const pid_t pid = own_proc ? ::fork() : -1;
  if (pid == 0) return 0;
  close_others(static_cast<unsigned>(status_fd));
  const int status = pid < 0 ? k_no_world << 8 : status_of(pid);
  const ssize_t ignored = ::write(status_fd, &status, sizeof status);
  static_cast<void>(ignored);
  ::_exit(0);
}

} // namespace

int enter_alone() {
  int ends[2];
  const pid_t parent = ::getppid();
  if (!leave_namespaces()) return 1;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // a change of credentials has taken it away
  if (::getppid() != parent || ::pipe2(ends, O_CLOEXEC) != 0) return 1;
  const pid_t first = ::fork();
  if (first < 0) return 1;
  if (first == 0) {
    ::close(ends[0]);
    return be_the_first(ends[1]);
  }
  ::close(ends[1]);
  close_others(static_cast<unsigned>(ends[0]));
  int status = 0;
  const bool told = ::read(ends[0], &status, sizeof status) == sizeof status;
  const int own = status_of(first);
  end_as(told ? status : own);
}

bool can_be_alone() {
  static const bool s_can = [] {
    base::CommandOptions options;
    options.argv = {"/bin/sh", "-c", "test $$ -lt 5 && test -d /proc/$$ && exit 3"};
    options.before_exec = enter_alone;
    options.deadline = base::Deadline::after_seconds(10);
    const auto tried = base::run_command(options);
    return tried && tried->ending.exited && tried->ending.code == 3;
  }();
  return s_can;
}

} // namespace ako::drive
