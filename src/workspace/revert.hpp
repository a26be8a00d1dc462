// Putting the incumbent's sources back.
#pragma once

#include "model/contract.hpp"
#include "model/sources.hpp"
#include "workspace/workdir.hpp"

namespace ako::workspace {

struct Reverted {
  std::vector<std::string> restored, removed; ///< task-relative paths that changed
  std::string kept_ref;                       ///< ref that holds what stood there before
  bool edited = false; ///< with `judged`: something else stands there; it was left alone
};

/// Makes solution/ and the declared sources equal to `incumbent`. What stood there is kept first
/// under refs/ako/<id>/<keep_as>; when that fails, nothing is touched. With `judged` that ref holds
/// those sources already and stays as it is: where anything else stands there now, somebody edited
/// it since, and nothing is touched. Files that no snapshot takes (build products, dot files) and
/// everything else in the task and the repository, git's index included, are left alone. Each file
/// is written whole or not at all.
base::Expected<Reverted> restore_sources(const Workdir& workdir, const model::Contract& contract,
                                         const model::Sources& incumbent,
                                         const std::string& keep_as,
                                         const model::Sources* judged = nullptr);

} // namespace ako::workspace
