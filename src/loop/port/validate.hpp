// `ako validate`: is the target faster, by its own build and its own benchmarks?
#pragma once

#include "loop/port/port.hpp"
#include "model/verdict.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

struct ValidateRequest {
  std::optional<std::string> waive;
  bool gates_only = false; ///< the library is not measured again; never confirms by itself
};

struct ValidateResult {
  std::string state; ///< k_confirmed, k_rejected or k_integrated (nothing was decided)
  std::string branch, commit, reason;
  std::vector<ledger::Validation> steps;
  std::optional<model::Verdict> verdict; ///< of the operator, old against new
  std::vector<std::string> untested;     ///< what this validation does not show
  base::fs::path old_tree, new_tree;
};

/// Builds the port's branch and its base in private work trees, judges and measures the operator of
/// both libraries against one another, runs every [[gate]]. Each step goes on record; the port is
/// then confirmed or rejected. A lost gate rejects whatever the operator gained.
base::Expected<ValidateResult> validate(const Session& session, const ValidateRequest& request);

} // namespace ako::loop
