#include "worker/namespaces.hpp"

#include "protocol/crash.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::worker {
namespace {

bool write_text(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const auto length = static_cast<ssize_t>(std::strlen(text));
  const bool whole = write(fd, text, static_cast<std::size_t>(length)) == length;
  close(fd);
  return whole;
}

/// Same numbers inside as outside: what files the worker may read does not change.
bool map_identity(uid_t uid, gid_t gid) {
  char text[64];
  write_text("/proc/self/setgroups", "deny"); // refused to root, where it is not needed
  std::snprintf(text, sizeof text, "%u %u 1", gid, gid);
  const bool groups = write_text("/proc/self/gid_map", text);
  std::snprintf(text, sizeof text, "%u %u 1", uid, uid);
  return write_text("/proc/self/uid_map", text) && groups;
}

Namespaces enter_namespaces() {
  Namespaces entered;
  const auto uid = geteuid();
  const auto gid = getegid();
  entered.user = unshare(CLONE_NEWUSER) == 0 && map_identity(uid, gid);
  entered.network = unshare(CLONE_NEWNET) == 0;
  entered.ipc = unshare(CLONE_NEWIPC) == 0;
  entered.mount = unshare(CLONE_NEWNS) == 0;
  entered.pid = unshare(CLONE_NEWPID) == 0;
  return entered;
}

/// Private /dev/shm, and a /proc of the pid namespace alone. In the namespace's first process.
bool remount(const Namespaces& entered) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  const bool shm = mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=16m") == 0;
  const bool proc = !entered.pid ||
                    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
  return shm && proc;
}

int wait_for(pid_t wanted) {
  int status = 0;
  for (;;) {
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid == wanted) return status;
    if (pid < 0 && errno != EINTR) return 0x100 * protocol::k_exit_setup_failed;
  }
}

[[noreturn]] void end_like(int status) {
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal, SIG_DFL);
  kill(getpid(), signal);
  _exit(128 + signal);
}

void die_with_parent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

void close_kept(std::initializer_list<int> keep) {
  for (const int fd : keep) close(fd);
}

[[noreturn]] void run_body(const Namespaces& entered,
                           const std::function<int(const Namespaces&)>& body) {
  die_with_parent();
  _exit(body(entered));
}

// Signals are not delivered to a namespace's first process by default, abort() among them: the
// worker is its child, and it hands the worker's status to the warden through a pipe.
[[noreturn]] void run_init(std::initializer_list<int> keep, int status_fd, Namespaces entered,
                           const std::function<int(const Namespaces&)>& body) {
  die_with_parent();
  if (entered.mount) entered.mount = remount(entered);
  const pid_t pid = fork();
  if (pid == 0) {
    close(status_fd);
    run_body(entered, body);
  }
  close_kept(keep);
  close(1);
  close(2);
  const int status = pid < 0 ? 0x100 * protocol::k_exit_setup_failed : wait_for(pid);
  const ssize_t ignored = write(status_fd, &status, sizeof status);
  static_cast<void>(ignored);
  _exit(0);
}

} // namespace

void run_contained(std::initializer_list<int> keep,
                   const std::function<int(const Namespaces&)>& body) {
  const auto entered = enter_namespaces();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) _exit(protocol::k_exit_setup_failed);
  const pid_t pid = fork();
  if (pid < 0) _exit(protocol::k_exit_setup_failed);
  if (pid == 0) {
    close(ends[0]);
    if (entered.pid) run_init(keep, ends[1], entered, body);
    auto alone = entered;
    if (alone.mount) alone.mount = remount(alone);
    close(ends[1]);
    run_body(alone, body);
  }
  close_kept(keep);
  close(ends[1]);
  close(1);
  close(2);
  int status = 0;
  if (!entered.pid) end_like(wait_for(pid));
  const bool told = read(ends[0], &status, sizeof status) == sizeof status;
  const int own = wait_for(pid);
  end_like(told ? status : own);
}

} // namespace ako::worker
