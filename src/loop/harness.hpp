// The AKO4ALL checkout that a task stands in, as a gate sees it.
#pragma once

#include "ledger/queries.hpp"
#include "workspace/preflight.hpp"
#include "workspace/workdir.hpp"

#include <optional>
#include <string>

namespace ako::loop {

/// Name of the validation that `ako preflight` puts on record.
inline constexpr const char* k_preflight = "preflight";

/// The checkout whose worktree the task lies in; nothing when it is none called AKO4ALL.
std::optional<base::fs::path> harness_of(const workspace::Workdir& workdir);

/// Why the harness is not clean and at its upstream; empty = it is, or there is none. Local alone:
/// what was seen with the network is on record, and holds for the commit that it was seen at.
base::Expected<std::string> harness_trouble(const workspace::Workdir& workdir,
                                            ledger::Reader* reader);

/// As it goes on record.
ledger::Validation validation_of(const workspace::Checkout& checkout);

} // namespace ako::loop
