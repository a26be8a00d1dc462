// What happens between fork and exec. The parent lays everything out in a ChildPlan beforehand; the
// child allocates nothing and makes async-signal-safe calls only.
#pragma once

#include "base/process.hpp"

#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace ako::base {

enum class SpawnStage : int { group, folder, descriptors, limits, exec };
const char* to_string(SpawnStage stage);

/// Sent to the parent when a step before exec failed.
struct ChildReport {
  SpawnStage stage;
  int error;
};

struct ChildPlan {
  ChildPlan(const SpawnOptions& options, const std::string& program, int report_fd);

  const SpawnOptions& options;
  std::string program;
  std::vector<char*> argv, envp; ///< null-terminated; envp empty = inherited
  /// {ours, target}, by target; 0, 1 and 2 are always among the targets (-1 = /dev/null).
  std::vector<std::pair<int, int>> fds;
  std::vector<int> copies; ///< scratch of the child, one per entry of fds
  std::vector<std::pair<int, rlimit>> limits;
  int report_fd;
  int parent_pid;
};

/// Runs in the child; never returns.
[[noreturn]] void run_child(const ChildPlan& plan);

} // namespace ako::base
