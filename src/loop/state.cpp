#include "loop/state.hpp"

#include <fmt/format.h>

namespace ako::loop {
namespace {

bool correct_and_not_better(model::OutcomeKind kind) {
  return kind == model::OutcomeKind::equivalent || kind == model::OutcomeKind::regressed ||
         kind == model::OutcomeKind::undecided;
}

} // namespace

Step decide(const model::Verdict& verdict, const std::optional<std::string>& flag_risk) {
  const model::OutcomeKind kind = verdict.outcome.kind;
  if (kind == model::OutcomeKind::improved)
    return {model::Decision::keep, "improved: " + verdict.outcome.reason};
  if (flag_risk && correct_and_not_better(kind)) return {model::Decision::flag, *flag_risk};
  std::string reason = fmt::format("{}: {}", model::to_string(kind), verdict.outcome.reason);
  if (flag_risk) reason += " (a flag keeps only what is correct)";
  return {model::Decision::revert, std::move(reason)};
}

bool makes_way(model::OutcomeKind kind, bool built) {
  if (!built) return false;
  switch (kind) {
  case model::OutcomeKind::equivalent:
  case model::OutcomeKind::regressed:
  case model::OutcomeKind::undecided:
  case model::OutcomeKind::incorrect:
  case model::OutcomeKind::suspect:
  case model::OutcomeKind::launch_failed:
  case model::OutcomeKind::crashed:
  case model::OutcomeKind::timeout: return true;
  default: return false;
  }
}

bool stalls(const ledger::Standing& before, const model::Verdict& verdict, ledger::Explore explore,
            const std::string& direction) {
  if (explore == ledger::Explore::yes || !correct_and_not_better(verdict.outcome.kind))
    return false;
  const std::int64_t row = direction.empty() ? before.not_better_in_a_row : 0;
  return row + 1 >= k_stall_after;
}

std::vector<std::string> lessons(const std::vector<ledger::IterationRow>& rows) {
  std::vector<std::string> out;
  std::size_t first = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].decision != model::Decision::revert) first = i + 1;
  for (std::size_t i = first; i < rows.size(); ++i) {
    const auto& row = rows[i];
    std::string gain = row.gain ? fmt::format(", {:+.1f} %", 100 * *row.gain) : std::string();
    out.push_back(fmt::format("iteration {}: {}: {}{}", row.number, row.hypothesis,
                              model::to_string(row.outcome), gain));
  }
  return out;
}

Next next_step(const ledger::Standing& standing,
               const std::vector<std::string>& closed_for_iteration,
               const std::string& command_for_first) {
  Next out;
  if (standing.incumbent)
    out.stands = fmt::format("incumbent: iteration {} ({})", standing.incumbent->number,
                             standing.incumbent->hypothesis);
  else if (standing.baseline_event) out.stands = "the baseline is the incumbent";
  else out.stands = "no baseline yet";
  if (closed_for_iteration.empty()) {
    out.command = "edit solution/, then: ako try --hypothesis \"...\"";
    return out;
  }
  for (const auto& text : closed_for_iteration)
    out.missing += (out.missing.empty() ? "" : "; ") + text;
  out.command = command_for_first;
  return out;
}

} // namespace ako::loop
