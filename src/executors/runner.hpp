// The local machine as a place where commands run.
#pragma once

#include "model/build_plan.hpp"

namespace ako::executors {

/// Starts the command here, in a group of its own; the group is killed when the deadline passes.
model::CommandRunner local_runner();

} // namespace ako::executors
