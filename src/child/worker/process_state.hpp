// State of this process that a kernel has no business changing: found before, compared after, put
// back.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace ako::worker {

class ProcessState {
public:
  static ProcessState capture();
  /// Names of what differs now ("cwd", "signal:11", "rounding", "flush_to_zero", "timer", "umask",
  /// "affinity", "environment", "rlimit"), each put back to what was captured.
  std::vector<std::string> restore() const;

private:
  std::string m_cwd;
  std::array<struct sigaction, NSIG> m_actions;
  std::uint32_t m_float_control = 0;
  std::uint64_t m_environment = 0;
  unsigned m_umask = 0;
  cpu_set_t m_affinity;
  std::array<rlimit, RLIM_NLIMITS> m_limits;
};

int thread_count(); ///< of this process; -1 when it cannot be known
int child_count();  ///< 1 when there is at least one child process, else 0

} // namespace ako::worker
