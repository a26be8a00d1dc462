// Correct first, then fast: correctness, evidence and the statistics' numbers to one outcome with
// the sentence that explains it.
#pragma once

#include "judge/precision.hpp"
#include "model/verdict.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::judge {

/// What the statistics decided about time, as plain numbers.
enum class TimeDecision { faster, equivalent, slower, undecided, disturbed };

struct VerdictInput {
  std::vector<model::Evidence> evidence; ///< all of it; decisive ones end the matter
  TimeDecision time = TimeDecision::undecided;
  model::Verdict numbers; ///< gain, interval, shapes, ... ; its outcome is what is filled in
  double min_gain = 0, max_regression = 0, alpha = 0;
  std::optional<Precision> precision; ///< worst over outputs and shapes
  model::PrecisionRule precision_rule = model::PrecisionRule::free;
  bool lower_precision_wanted = false; ///< tolerance.ratio_to_baseline says how much lower
  bool second_opinion_required = true, second_opinion_agrees = false;
  std::string disturbed_reason; ///< why blocks were thrown away
};

/// `numbers` with its outcome: improved only when the interval lies above min_gain, every shape is
/// within its regression, no decisive evidence, and the second opinion agrees where required (else
/// undecided: "second opinion is missing or does not agree"). Of a lower precision class than what
/// it is measured against it is no win either, unless the contract says how much lower it may be:
/// undecided, for the gain may be the precision's. Non-finite or non-positive times are
/// invalid_measurement. The reason carries gain, interval, threshold, placements and pairs.
model::Verdict conclude(const VerdictInput& input);

} // namespace ako::judge
