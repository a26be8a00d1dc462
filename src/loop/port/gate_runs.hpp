// [[gate]] commands, run in the target's two work trees in turn.
#pragma once

#include "base/fs.hpp"
#include "ledger/events.hpp"
#include "model/build_plan.hpp"
#include "model/contract.hpp"

#include <vector>

namespace ako::loop {

struct GateTrees {
  base::fs::path old_tree, new_tree;
  std::string switch_name; ///< set to "new" in the new tree; empty = not an environment variable
  double deadline_seconds = 600;
  int repeats = 3; ///< of each side, in turn: old new, new old, old new
};

/// The medians of both sides held against what the gate asks for. A command that fails or prints no
/// number is a gate that did not pass, with the reason; an Error only when nothing could be run.
base::Expected<ledger::Validation> run_gate(const model::GateSpec& gate, const GateTrees& trees,
                                            const model::CommandRunner& runner);

/// In words: gates that ran before under other terms, and those that ran and are gone. A bar that
/// was lowered after it was missed is to be seen. `recorded`: validations in the order of record.
std::vector<std::string> changed_terms(const std::vector<model::GateSpec>& gates,
                                       const std::vector<ledger::Validation>& recorded);

/// `sh -c command` in a tree; AKO_PORT_SIDE and AKO_PORT_TREE are set.
base::Expected<base::CommandResult> run_in_tree(const std::string& command,
                                                const base::fs::path& tree, const std::string& side,
                                                const std::string& switch_name,
                                                double deadline_seconds,
                                                const model::CommandRunner& runner);

/// The last lines of what a command said.
std::string tail_of(const base::CommandResult& result);

} // namespace ako::loop
