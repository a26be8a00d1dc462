// Head hashes of the ledger that lie outside it: in the trailers of the task's commits.
#pragma once

#include "ledger/verify.hpp"
#include "workspace/workdir.hpp"

namespace ako::loop {

/// Trailers Ako-Ledger-Head of the commits reachable from HEAD that touch the task. Empty where
/// there is no commit.
base::Expected<std::vector<ledger::KnownHead>> heads_in_commits(const workspace::Workdir& workdir);

} // namespace ako::loop
