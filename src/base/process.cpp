#include "base/process.hpp"

#include "base/spawn_child.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace ako::base {

namespace {

/// The file that argv[0] names, found in the parent so that the child has only safe calls to make.
Expected<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  const std::string_view list = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t at = 0; at <= list.size() && !name.empty();) {
    const std::size_t colon = std::min(list.find(':', at), list.size());
    std::string folder(list.substr(at, colon - at));
    if (folder.empty()) folder = ".";
    const std::string candidate = folder + "/" + name;
    struct stat info {};
    if (stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        access(candidate.c_str(), X_OK) == 0)
      return candidate;
    at = colon + 1;
  }
  return fail(ErrorKind::environment, "a program was not found",
              {.where = name,
               .found = "nothing of that name in PATH",
               .allowed = {},
               .next = fmt::format("install '{}' or name it with its folder", name)});
}

/// What stopped the child before exec, if anything did: it writes to a pipe that exec closes.
Status read_report(int fd, const SpawnOptions& options) {
  ChildReport report{};
  ssize_t got = 0;
  do {
    got = read(fd, &report, sizeof report);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof report) return {};
  return fail(ErrorKind::environment, "a program could not be started",
              {.where = options.argv[0],
               .found = fmt::format("{}: {}", to_string(report.stage), std::strerror(report.error)),
               .allowed = {},
               .next = {}});
}

Ending ending_of(const siginfo_t& info, const rusage& used) {
  Ending ending;
  ending.peak_bytes = std::int64_t{used.ru_maxrss} * 1024;
  ending.exited = info.si_code == CLD_EXITED;
  (ending.exited ? ending.code : ending.signal) = info.si_status;
  return ending;
}

/// waitid() on one child; si_pid stays 0 when WNOHANG found nothing. The kernel's own call tells
/// what was used as well.
long wait_on(pid_t pid, siginfo_t& info, int flags, rusage* used = nullptr) {
  info = {};
  long result = 0;
  do {
    result = syscall(SYS_waitid, P_PID, pid, &info, WEXITED | flags, used);
  } while (result != 0 && errno == EINTR);
  return result;
}

} // namespace

std::string Ending::text() const {
  if (exited) return fmt::format("exit {}", code);
  const char* name = sigabbrev_np(signal);
  return fmt::format("signal {} ({}{})", signal, name != nullptr ? "SIG" : "",
                     name != nullptr ? name : "unknown");
}

Expected<Process> Process::spawn(const SpawnOptions& options) {
  if (options.argv.empty()) return fail(ErrorKind::internal, "a command without words");
  AKO_TRY(const std::string program, find_program(options.argv[0]));
  AKO_TRY(FdPair report, make_pipe());
  const ChildPlan plan(options, program, report.second.get());

  // Signals are held back over the fork: a handler of the parent's must not run in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) run_child(plan);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return fail_errno("no process could be started", options.argv[0], error);

  Process process;
  process.m_pid = pid;
  setpgid(pid, pid); // the child does the same: whoever is first, the group exists from here on
  process.m_pidfd = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.m_pidfd)
    return fail(ErrorKind::unsupported, "processes cannot be watched on this kernel",
                {.where = "pidfd_open",
                 .found = std::strerror(errno),
                 .allowed = "Linux 5.3 or newer",
                 .next = {}});
  report.second.reset();
  AKO_TRY_STATUS(read_report(report.first.get(), options));
  return process;
}

Process::Process(Process&& other) noexcept
    : m_pid(std::exchange(other.m_pid, -1)), m_pidfd(std::move(other.m_pidfd)),
      m_ending(std::exchange(other.m_ending, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill_group();
    m_pid = std::exchange(other.m_pid, -1);
    m_pidfd = std::move(other.m_pidfd);
    m_ending = std::exchange(other.m_ending, std::nullopt);
  }
  return *this;
}

Process::~Process() { kill_group(); }

pid_t Process::pid() const { return m_pid; }

int Process::pidfd() const { return m_pidfd.get(); }

bool Process::running() {
  if (m_pid < 0 || m_ending) return false;
  siginfo_t info;
  if (wait_on(m_pid, info, WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) return true;
  // The dead leader still holds the number of its group, so the rest can be ended by it safely.
  kill(-m_pid, SIGKILL);
  rusage used{};
  const bool reaped = wait_on(m_pid, info, 0, &used) == 0;
  m_ending =
      reaped ? ending_of(info, used) : Ending{}; // reaped by others only where SIGCHLD is ignored
  return false;
}

Expected<Ending> Process::wait(Deadline deadline) {
  AKO_CHECK(m_pid >= 0, "waiting for a process that was moved away");
  while (running()) {
    pollfd entry{m_pidfd.get(), POLLIN, 0};
    const int ready = poll(&entry, 1, deadline.remaining_ms());
    if (ready == 0 && deadline.passed() && running())
      return fail(
          ErrorKind::timeout, "the deadline passed while a process was running",
          {.where = fmt::format("process {}", m_pid), .found = {}, .allowed = {}, .next = {}});
  }
  return *m_ending;
}

void Process::signal_group(int signal) {
  if (m_pid > 1 && !m_ending) kill(-m_pid, signal);
}

void Process::kill_group() {
  if (m_pid < 0 || m_ending) return;
  signal_group(SIGKILL);
  siginfo_t info;
  if (wait_on(m_pid, info, WNOWAIT) == 0) running();
  else m_ending = Ending{};
}

} // namespace ako::base
