// The loop's decisions, pure: from a verdict to keep, revert or flag; from a row of iterations to a
// stall.
#pragma once

#include "ledger/queries.hpp"
#include "model/verdict.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

struct Step {
  model::Decision decision = model::Decision::revert;
  std::string reason; ///< one sentence; with flag the named risk
};

/// `flag_risk`: the user keeps a candidate that is correct and not shown to be better, naming the
/// risk. An incorrect, suspect or broken candidate is never kept, whatever is asked for.
Step decide(const model::Verdict& verdict, const std::optional<std::string>& flag_risk);

/// Whether a reverted candidate's sources make way for the incumbent's. What was not built is left
/// to be mended; what ended through no fault of its own stays to be tried again.
bool makes_way(model::OutcomeKind kind, bool built);

/// Whether the iteration just evaluated makes the third in a row that was correct and not better.
/// `before`: the standing without it. A `direction` given with it begins a new row.
inline constexpr int k_stall_after = 3;
bool stalls(const ledger::Standing& before, const model::Verdict& verdict, ledger::Explore explore,
            const std::string& direction);

/// What the log teaches, for the moment of a stall: one line an attempt since the incumbent came.
std::vector<std::string> lessons(const std::vector<ledger::IterationRow>& rows);

/// What stands and the one command to run next.
struct Next {
  std::string stands, missing, command;
};
Next next_step(const ledger::Standing& standing,
               const std::vector<std::string>& closed_for_iteration,
               const std::string& command_for_first);

} // namespace ako::loop
