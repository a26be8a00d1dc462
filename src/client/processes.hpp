// A child's processes as /proc shows them.
#pragma once

#include "client/worker.hpp"

#include <sys/types.h>
#include <vector>

namespace ako::client {

/// `root` and all that descend from it, root first.
std::vector<pid_t> process_tree(pid_t root);
Activity activity_of(pid_t root);
/// Threads of `root` and of what its first threads started, by a few looks whatever their number.
int threads_below(pid_t root);
/// Every thread of every process is stopped (by SIGSTOP), or the process is gone.
bool all_stopped(pid_t root);

} // namespace ako::client
