// Walking a task's folders: which files are the user's and which are left behind by tools.
#pragma once

#include "base/error.hpp"
#include "base/fs.hpp"
#include "model/sources.hpp"
#include "workspace/snapshot.hpp"

namespace ako::workspace {

/// Object files, libraries, caches, editor back-ups, dot files.
bool is_left_behind(const base::fs::path& name);

/// Files below task/relative that are not left behind: task-relative, sorted. Links and special
/// files are listed too; nested git repositories are not entered. A missing folder is empty.
base::Expected<std::vector<std::string>> list_below(const base::fs::path& task,
                                                    const std::string& relative);

enum class Missing { refused, allowed };

/// The listed files with their bytes, checked as take_snapshot says.
base::Expected<model::Sources> collect(const Workdir& workdir,
                                       const std::vector<std::string>& declared,
                                       const SnapshotLimits& limits, Missing missing);
/// solution/ and the contract's declared sources.
base::Expected<std::vector<std::string>> candidate_paths(const Workdir& workdir,
                                                         const model::Contract& contract);

} // namespace ako::workspace
