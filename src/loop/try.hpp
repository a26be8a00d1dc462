// One iteration: one hypothesis, one change, one evaluation, one decision.
#pragma once

#include "executors/lease.hpp"
#include "loop/change.hpp"
#include "loop/gates.hpp"
#include "loop/incumbent.hpp"
#include "loop/prediction.hpp"
#include "loop/recipes.hpp"
#include "loop/session.hpp"
#include "loop/setup.hpp"
#include "loop/state.hpp"
#include "loop/stops.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

struct TryRequest {
  std::string hypothesis, prediction, cites, direction;
  std::optional<double> predicted_gain;
  std::string predict; ///< loop/prediction.hpp: recorded before, held against the figures after
  ledger::Explore explore = ledger::Explore::no;
  std::optional<std::string> waive;     ///< a person's: why whatever is closed is passed over
  Waivers waivers;                      ///< of a campaign's file: gate by gate, and no other
  std::string waived_by = "user";       ///< or "campaign file"
  std::optional<std::string> flag_risk; ///< keep what is correct and not better, naming the risk
};

struct TryResult {
  std::int64_t number = 0;
  ledger::Iteration iteration;
  Step step;
  bool stalled = false;             ///< this one was the third in a row
  std::vector<std::string> lessons; ///< with stalled
  std::optional<ledger::Stall> stall;
  std::string commit;                ///< empty when git would not take it: see warnings
  std::vector<std::string> restored; ///< files put back to the incumbent's
  std::string kept_ref; ///< where a reverted or meanwhile edited candidate's sources are kept
  std::vector<model::CompilerMessage> messages; ///< build_failed: the compiler's words
  evaluation::Phases phases;
  /// What else was run on the device: against the baseline, and after a stall.
  std::int64_t further_device_ns = 0;
  double build_seconds = 0;
  bool build_cached = false;
  std::vector<TermOutcome> predicted;               ///< what came of --predict
  ChangeWidth width;                                ///< of the change against the incumbent
  std::optional<ledger::IterationRow> tried_before; ///< the same attempt, as it ended then
  std::vector<Stop> stops;
  std::vector<std::string> places;   ///< of a fault, by the tools that were asked
  std::vector<std::string> unproven; ///< what the judge did not look at
  std::vector<std::string> warnings;
  /// The compiler refused it, or did not come to an end with it.
  bool not_built() const {
    const auto kind = iteration.verdict.outcome.kind;
    return kind == model::OutcomeKind::build_failed ||
           (kind == model::OutcomeKind::timeout && !iteration.artifact);
  }
};

/// Reasons to stop and think that are on record now.
base::Expected<std::vector<Stop>> standing_stops(const Session& session);

/// Writes ITERATIONS.md and its like after an event; from a room above.
using TextWriter = std::function<base::Status(const Session&)>;

base::Expected<TryResult> try_candidate(const Session& session, const TryRequest& request,
                                        const TextWriter& write_texts);

} // namespace ako::loop
