#include "judge/verdict.hpp"

#include "judge/guards.hpp"

#include <cmath>
#include <fmt/format.h>

namespace ako::judge {
namespace {

using model::OutcomeKind;

constexpr double k_most_share = 1000;

/// An end of an interval may be open: few placements that lie far apart bound nothing, or nothing
/// within a thousand times.
std::string percent(double share) {
  return std::fabs(share) > k_most_share ? "open" : fmt::format("{:.2f} %", 100 * share);
}

std::string numbers_text(const model::Verdict& numbers) {
  return fmt::format("gain {} [{}, {}] over {} placements and {} pairs", percent(numbers.gain),
                     percent(numbers.interval.low), percent(numbers.interval.high),
                     numbers.placements, numbers.pairs);
}

const model::ShapeVerdict* beyond_regression(const model::Verdict& numbers) {
  for (const auto& shape : numbers.shapes)
    if (!shape.within_regression) return &shape;
  return nullptr;
}

std::string first_unusable(const model::Verdict& numbers) {
  for (const auto& shape : numbers.shapes)
    for (double time : {shape.old_ns, shape.new_ns})
      if (!std::isfinite(time) || time <= 0)
        return fmt::format("shape {} has a time of {} ns", shape.tag, time);
  if (!std::isfinite(numbers.gain) || std::isnan(numbers.interval.low) ||
      std::isnan(numbers.interval.high))
    return "the gain is not a number";
  return {};
}

model::Outcome outcome(OutcomeKind kind, std::string reason,
                       const std::vector<model::Evidence>& evidence) {
  return {kind, model::default_fault(kind), std::move(reason), evidence};
}

/// The interval of a win must lie above the threshold whatever the statistics called it.
bool shown(const VerdictInput& input) {
  return input.numbers.interval.low > input.min_gain && !beyond_regression(input.numbers);
}

model::Outcome decide_time(const VerdictInput& input) {
  const model::Verdict& numbers = input.numbers;
  const std::string text = numbers_text(numbers);
  switch (input.time) {
  case TimeDecision::faster:
    if (!shown(input))
      return outcome(OutcomeKind::undecided,
                     text +
                         fmt::format("; not above the minimum gain of {}", percent(input.min_gain)),
                     input.evidence);
    if (input.second_opinion_required && !input.second_opinion_agrees)
      return outcome(OutcomeKind::undecided,
                     text + "; the second opinion is missing or does not agree", input.evidence);
    return outcome(OutcomeKind::improved,
                   text + fmt::format("; more than the minimum gain of {} at alpha {}",
                                      percent(input.min_gain), percent(input.alpha)),
                   input.evidence);
  case TimeDecision::equivalent:
    return outcome(OutcomeKind::equivalent,
                   text + fmt::format("; within {} either way", percent(input.min_gain)),
                   input.evidence);
  case TimeDecision::slower: {
    const auto* shape = beyond_regression(numbers);
    return outcome(OutcomeKind::regressed,
                   shape ? text + fmt::format("; shape {} loses {} where {} is allowed", shape->tag,
                                              percent(-shape->gain), percent(input.max_regression))
                         : text,
                   input.evidence);
  }
  case TimeDecision::disturbed:
    return outcome(OutcomeKind::invalid_measurement,
                   input.disturbed_reason.empty() ? "too few undisturbed blocks are left"
                                                  : input.disturbed_reason,
                   input.evidence);
  case TimeDecision::undecided:
    return outcome(OutcomeKind::undecided,
                   text + (numbers.more_needed.empty() ? "" : "; " + numbers.more_needed),
                   input.evidence);
  }
  return outcome(OutcomeKind::undecided, text, input.evidence);
}

} // namespace

model::Verdict conclude(const VerdictInput& input) {
  model::Verdict out = input.numbers;
  std::vector<model::Evidence> evidence = input.evidence;
  if (auto forced = decide(evidence)) {
    out.outcome = std::move(*forced);
    return out;
  }
  if (input.time != TimeDecision::disturbed)
    if (std::string bad = first_unusable(out); !bad.empty()) {
      out.outcome = outcome(OutcomeKind::invalid_measurement, bad, input.evidence);
      return out;
    }
  out.outcome = decide_time(input);
  if (!input.precision || input.precision->kind != PrecisionClass::lower) return out;
  out.outcome.reason += "; precision changed: " + input.precision->reason;
  if (out.outcome.kind != OutcomeKind::improved || input.lower_precision_wanted) return out;
  out.outcome.kind = OutcomeKind::undecided;
  out.outcome.fault = model::default_fault(OutcomeKind::undecided);
  out.outcome.reason += "; what is gained may be gained by that alone: measure it against a "
                        "[[baseline]] of the same precision, or allow it by "
                        "tolerance.ratio_to_baseline";
  return out;
}

} // namespace ako::judge
