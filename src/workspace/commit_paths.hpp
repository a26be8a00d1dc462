// A commit of exactly some paths of the task, whatever its message.
#pragma once

#include "workspace/workdir.hpp"

#include <string>
#include <vector>

namespace ako::workspace {

/// As commit_iteration, with a whole message.
base::Expected<std::string> commit_paths(const Workdir& workdir, const std::string& message,
                                         const std::vector<std::string>& paths);

} // namespace ako::workspace
