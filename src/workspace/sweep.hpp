// What a command that was killed left half-written in a task's folders.
#pragma once

#include "workspace/workdir.hpp"

namespace ako::workspace {

/// Removes it from the task's own folder, from everything below solution/, input/, bench/ and
/// context/, and from the task's records. Files of the user's, and what a living process is
/// writing, stay.
void sweep_task(const Workdir& workdir);

} // namespace ako::workspace
