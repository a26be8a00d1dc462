// The files of a task that decide about its candidates: what judges them, what they are measured
// against, what fills their inputs. What was proven or measured with them holds while they stand as
// they were.
#pragma once

#include "ledger/file_seen.hpp"
#include "loop/builds.hpp"

#include <string>
#include <vector>

namespace ako::loop {

/// Everything of the task that a side's build read, headers included.
std::vector<ledger::FileSeen> files_of(const std::string& role, const Built& built);
/// The files that tensors are filled from, and what building them read.
base::Expected<std::vector<ledger::FileSeen>> files_of_fills(const workspace::Workdir& workdir,
                                                             Builder& builder);

/// "input/reference.cpp (reference)" for each that is no longer what it was, or is gone.
std::vector<std::string> changed_files(const workspace::Workdir& workdir,
                                       const std::vector<ledger::FileSeen>& seen);

/// Their paths alone, each once.
std::vector<std::string> changed_paths(const workspace::Workdir& workdir,
                                       const std::vector<ledger::FileSeen>& seen);

/// Kind stale when a side was built from other bytes than those that were proven: a file changed
/// between the look at it and the compiler's. Sides that `proven` does not know pass.
base::Status built_as_proven(const std::string& role, const Built& built,
                             const std::vector<ledger::FileSeen>& proven);

} // namespace ako::loop
