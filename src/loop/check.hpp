// `ako check`: can this contract judge? Asked before anything is judged by it.
#pragma once

#include "loop/session.hpp"
#include "loop/setup.hpp"

namespace ako::loop {

/// interpreted: the sides are judged under the lane's own interpreter, on the host, nothing timed.
enum class CheckDepth { build_only, interpreted, whole };

/// What the compiler reports of one side.
struct SideReport {
  std::string label; ///< "reference", "baseline:first", "solution"
  base::Json resources;
  std::vector<model::CompilerMessage> messages;
};

struct CheckResult {
  std::vector<SideReport> sides;
  ledger::SelfTest test;                     ///< as recorded; build_only is not recorded
  std::optional<model::OutcomeKind> outcome; ///< task_error when it failed
  /// Then what was wrong, where in the task, what is allowed and what to do: of the first step that
  /// does not hold.
  std::optional<base::Error> why;
  std::vector<std::string> warnings; ///< of the self-test
  /// How the machine (or the user) ended it before it was settled; then nothing is recorded.
  std::optional<model::Outcome> unsettled;
};

/// Builds every side; judges each baseline; puts probes and mutants to the comparison; the baseline
/// against itself must be a draw; the same sources without optimisation must be seen to be slower;
/// a canary edit must be noticed. Recorded with the recipes that join the judged inputs.
base::Expected<CheckResult> check_contract(const Session& session, CheckDepth depth);

} // namespace ako::loop
