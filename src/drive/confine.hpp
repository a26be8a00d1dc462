// Landlock for an agent: it may read what its user may read, and write only where it is told.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/fs.hpp"

#include <string>
#include <vector>

namespace ako::drive {

/// The kernel's version of Landlock; 0 = there is none.
int landlock_version();

/// A ruleset under which only `paths` (files, or folders with all below) and the usual devices can
/// be written; from version 6 on no signal reaches a process outside. Paths that do not exist are
/// left out. Kind unsupported where the kernel has no Landlock.
base::Expected<base::UniqueFd> write_rules(const std::vector<base::fs::path>& paths);

/// Puts this process under `rules` for good and closes them. Async-signal-safe; 0 = done.
int enter_rules(int rules);

} // namespace ako::drive
