// Making a task: `ako new`.
#pragma once

#include "model/sources.hpp"
#include "workspace/workdir.hpp"

#include <string>

namespace ako::workspace {

struct CreateRequest {
  base::fs::path base_dir; ///< where the task, or AKO4ALL, lies
  std::string name;        ///< letters, digits, '_', '-', '.'; not a leading '.' or '-'
  std::vector<model::SourceText> files; ///< task-relative; task.toml among them
};

struct Created {
  base::fs::path task; ///< where task.toml lies
  std::string branch;  ///< "ako/<name>" in an AKO4ALL worktree; the default branch otherwise
  std::string commit;  ///< the first commit
  bool in_ako4all = false;
  std::vector<std::string> files; ///< task-relative, sorted
};

/// With <base_dir>/AKO4ALL a git work tree: a worktree <base_dir>/AKO4ALL-<name> on a new branch
/// ako/<name> from AKO4ALL's HEAD, the task in its sub-folder <name>; the checkout itself stays as
/// it is. Otherwise: a new git repository in <base_dir>/<name>. Never touches what exists already
/// (kind refused); what it made itself is removed again when a later step fails. Uses no network.
base::Expected<Created> create_task(const CreateRequest& request);

/// Lanes that have a starting task, sorted. Kind environment when no templates folder is found.
base::Expected<std::vector<std::string>> starting_lanes();
/// Kind usage: it is none of these.
tl::unexpected<base::Error> no_such_lane(const std::string& lane,
                                         const std::vector<std::string>& lanes);

/// The starting task as task-relative files: templates/<lane>/ of the installed or source tree, or
/// for "<lane>/<template>" that of a kernel, with "{{name}}" replaced. Kind usage with the list of
/// lanes for a lane that has none, kind environment when no templates folder is found.
base::Expected<std::vector<model::SourceText>> starting_files(const std::string& lane,
                                                              const std::string& name);

} // namespace ako::workspace
