// Iterations as commits.
#pragma once

#include "model/contract.hpp"
#include "model/sources.hpp"
#include "workspace/workdir.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::workspace {

/// The candidate's files as a commit is to hold them: `sources`, whose snapshot.git_tree is kept.
struct CommittedCandidate {
  const model::Contract* contract = nullptr;
  const model::Sources* sources = nullptr;
};

struct IterationCommit {
  int number = 0;
  std::string hypothesis;  ///< one line; becomes the subject "[iter N] <hypothesis>"
  std::string body;        ///< outcome and figures; may be empty
  std::string ledger_head; ///< trailer Ako-Ledger-Head
  /// Task-relative files and folders that belong to the commit. A folder takes all regular files
  /// below it; a path that no longer exists is removed. Anything else of the user's stays as it is:
  /// content, index entries, stashes, untracked and ignored files.
  std::vector<std::string> paths = {"task.toml", "input",   "solution",
                                    "bench",     "context", "ITERATIONS.md"};
  /// Of solution/ and the declared sources the commit holds these, whatever was made of them on
  /// disk meanwhile; that stays there, uncommitted.
  std::optional<CommittedCandidate> candidate;
  /// Task-relative files below `paths` that the commit leaves as HEAD has them.
  std::vector<std::string> left_out;
};

/// Commits exactly `paths` on top of HEAD (the branch moves, or HEAD where it is detached) through
/// a private index, then brings the user's index up to date for those paths alone: an entry the
/// user had staged differently stays staged. Refused (kind refused) in the middle of a merge,
/// rebase, cherry-pick, revert or bisect, and when the index is locked. Returns the commit id; when
/// nothing changed the commit is made all the same (the record counts).
base::Expected<std::string> commit_iteration(const Workdir& workdir,
                                             const IterationCommit& iteration);

/// What stands in the way of committing, as (path or state) words; empty = nothing.
base::Expected<std::vector<std::string>> commit_obstacles(const Workdir& workdir);

} // namespace ako::workspace
