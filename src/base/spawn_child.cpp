#include "base/spawn_child.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ako::base {

namespace {

constexpr int k_exit_not_started = 127;

[[noreturn]] void give_up(int report_fd, SpawnStage stage) {
  const ChildReport report{stage, errno};
  const ssize_t ignored = write(report_fd, &report, sizeof report);
  static_cast<void>(ignored);
  _exit(k_exit_not_started);
}

void add_limit(std::vector<std::pair<int, rlimit>>& limits, int resource,
               const std::optional<std::uint64_t>& value) {
  if (!value) return;
  rlimit limit{};
  // A hard limit below the wish stays: raising it takes a privilege that children do not need.
  getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, *value);
  limit.rlim_cur = limit.rlim_max;
  limits.emplace_back(resource, limit);
}

/// Every signal back to its default and none held back.
void reset_signals() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// 0 = none.
int death_signal(const ChildPlan& plan) {
  switch (plan.options.orphaned) {
  case SpawnOptions::Orphaned::killed: return SIGKILL;
  case SpawnOptions::Orphaned::told: return SIGTERM;
  case SpawnOptions::Orphaned::goes_on: return 0;
  }
  return SIGKILL;
}

/// The child ends with its parent, also when that has ended already.
void die_with_parent(const ChildPlan& plan) {
  if (plan.options.orphaned == SpawnOptions::Orphaned::goes_on) return;
  prctl(PR_SET_PDEATHSIG, death_signal(plan));
  if (getppid() != plan.parent_pid) _exit(k_exit_not_started);
}

/// Closes first..last, by one call where the kernel has it.
void close_numbers(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto end = static_cast<unsigned>(std::min<rlim_t>(limit.rlim_cur, INT_MAX));
  for (unsigned fd = first; fd <= last && fd < end; ++fd) close(static_cast<int>(fd));
}

/// Puts each descriptor at its number and closes all others except the report pipe, whose new
/// number is returned. Copies go first, out of the way: a target may be another entry's source.
int arrange_fds(const ChildPlan& plan, int* copies) {
  const int above = plan.fds.back().second + 1;
  const int report = fcntl(plan.report_fd, F_DUPFD_CLOEXEC, above);
  if (report < 0) give_up(plan.report_fd, SpawnStage::descriptors);
  for (std::size_t i = 0; i < plan.fds.size(); ++i) {
    int ours = plan.fds[i].first;
    const bool none = ours < 0;
    if (none) ours = open("/dev/null", O_RDWR | O_CLOEXEC);
    copies[i] = fcntl(ours, F_DUPFD_CLOEXEC, above);
    if (copies[i] < 0) give_up(report, SpawnStage::descriptors);
  }
  for (std::size_t i = 0; i < plan.fds.size(); ++i)
    if (dup2(copies[i], plan.fds[i].second) < 0) give_up(report, SpawnStage::descriptors);
  unsigned next = 0;
  for (const auto& entry : plan.fds) {
    const auto target = static_cast<unsigned>(entry.second);
    if (target > 0) close_numbers(next, target - 1);
    next = target + 1;
  }
  close_numbers(next, static_cast<unsigned>(report) - 1);
  close_numbers(static_cast<unsigned>(report) + 1, UINT_MAX);
  return report;
}

} // namespace

const char* to_string(SpawnStage stage) {
  switch (stage) {
  case SpawnStage::group: return "making its process group";
  case SpawnStage::folder: return "entering its working folder";
  case SpawnStage::descriptors: return "arranging its descriptors";
  case SpawnStage::limits: return "setting its limits";
  case SpawnStage::exec: return "exec";
  }
  return "starting";
}

ChildPlan::ChildPlan(const SpawnOptions& given, const std::string& found, int report)
    : options(given), program(found), fds(given.fds), report_fd(report), parent_pid(getpid()) {
  for (const auto& word : given.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  if (given.env) {
    for (const auto& entry : *given.env) envp.push_back(const_cast<char*>(entry.c_str()));
    envp.push_back(nullptr);
  }
  for (int standard = 0; standard <= 2; ++standard) {
    const bool named = std::any_of(fds.begin(), fds.end(),
                                   [&](const auto& entry) { return entry.second == standard; });
    if (!named) fds.emplace_back(-1, standard);
  }
  std::sort(fds.begin(), fds.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  copies.resize(fds.size());
  add_limit(limits, RLIMIT_FSIZE, given.limits.file_bytes);
  add_limit(limits, RLIMIT_NOFILE, given.limits.open_files);
  add_limit(limits, RLIMIT_NPROC, given.limits.processes);
  add_limit(limits, RLIMIT_CPU, given.limits.cpu_seconds);
  add_limit(limits, RLIMIT_CORE, given.limits.core_bytes);
  add_limit(limits, RLIMIT_STACK, given.limits.stack_bytes);
}

void run_child(const ChildPlan& plan) {
  if (setpgid(0, 0) != 0 && getpgrp() != getpid()) give_up(plan.report_fd, SpawnStage::group);
  die_with_parent(plan);
  reset_signals();
  if (!plan.options.cwd.empty() && chdir(plan.options.cwd.c_str()) != 0)
    give_up(plan.report_fd, SpawnStage::folder);
  const int report = arrange_fds(plan, const_cast<int*>(plan.copies.data()));
  for (const auto& [resource, limit] : plan.limits)
    if (setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0)
      give_up(report, SpawnStage::limits);
  if (plan.options.before_exec) {
    if (plan.options.before_exec() != 0) _exit(k_exit_not_started);
    prctl(PR_SET_PDEATHSIG, death_signal(plan)); // a change of credentials has taken it away
  }
  char* const* environment = plan.envp.empty() ? environ : plan.envp.data();
  execve(plan.program.c_str(), plan.argv.data(), environment);
  give_up(report, SpawnStage::exec);
}

} // namespace ako::base
