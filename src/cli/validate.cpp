#include "loop/port/validate.hpp"
#include "cli/command.hpp"
#include "cli/words.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

/// What decides the exit code: confirmed is a win; anything else says how it was lost.
std::optional<model::OutcomeKind> outcome_of(const loop::ValidateResult& result) {
  if (result.state == loop::k_confirmed) return model::OutcomeKind::improved;
  if (result.verdict && result.verdict->outcome.kind != model::OutcomeKind::improved)
    return result.verdict->outcome.kind;
  for (const auto& step : result.steps) {
    if (step.passed) continue;
    return step.name.starts_with("build") ? model::OutcomeKind::build_failed
                                          : model::OutcomeKind::regressed;
  }
  return model::OutcomeKind::undecided;
}

base::Expected<Reply> run_validate(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  session.use_device(arguments.maybe("device"));
  loop::ValidateRequest request;
  AKO_TRY(request.waive, persons_word(arguments, "waive"));
  request.gates_only = arguments.has("gates-only");
  AKO_TRY(const loop::ValidateResult result, loop::validate(session, request));
  Reply reply;
  reply.outcome = outcome_of(result);
  reply.text = fmt::format("{} at {}: {}\n{}\n", result.branch, result.commit.substr(0, 12),
                           result.state, result.reason);
  base::Json steps = base::Json::array();
  for (const auto& step : result.steps) {
    reply.text +=
        fmt::format("  {:<6} {}: {}\n", step.passed ? "passed" : "failed", step.name, step.detail);
    steps.push_back({{"name", step.name}, {"passed", step.passed}, {"detail", step.detail}});
  }
  if (result.verdict && result.verdict->placements > 0)
    reply.text += verdict_table(*result.verdict) + how_text(*result.verdict) + "\n";
  for (const auto& each : result.untested) reply.text += "not shown: " + each + "\n";
  reply.data = {{"state", result.state},
                {"branch", result.branch},
                {"commit", result.commit},
                {"reason", result.reason},
                {"steps", std::move(steps)},
                {"untested", result.untested},
                {"old_tree", result.old_tree.string()},
                {"new_tree", result.new_tree.string()}};
  if (result.verdict) reply.data["verdict"] = model::to_json(*result.verdict);
  return reply;
}

} // namespace

extern const Command k_validate{
    "validate",
    "is the target faster, by its own build and benchmarks?",
    "Builds the port's branch and the commit it stands on in private work trees; judges and "
    "measures\n"
    "[port] measure of both libraries against one another, by the hashes that were loaded; runs "
    "every\n"
    "[[gate]] command on both, in turn. Confirmed only when all of it holds: a win of the operator "
    "that\n"
    "a gate does not see is recorded and rejected. Exit 0 confirmed, 10 not faster or a gate lost, "
    "11\n"
    "incorrect, 13 not built.",
    {},
    {{"gates-only", "", "run the gates alone; confirms nothing", Arity::flag},
     {"device", "ID", k_device_help},
     {"waive", "WHY", "go on through a closed gate; stays visible in every report"}},
    {"ako validate", "ako validate --json", "ako validate --gates-only"},
    run_validate};

} // namespace ako::cli
