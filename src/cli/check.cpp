#include "loop/check.hpp"
#include "cli/command.hpp"
#include "model/contract_toml.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Expected<Reply> run(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  Reply reply;
  if (arguments.has("echo")) {
    reply.text = model::echo_toml(session.contract());
    reply.data["contract"] = model::to_json(session.contract());
    return reply;
  }
  auto depth = arguments.has("build-only") ? loop::CheckDepth::build_only : loop::CheckDepth::whole;
  AKO_TRY(loop::CheckResult result, loop::check_contract(session, depth));
  base::Json steps = base::Json::array();
  std::size_t failed = 0;
  for (const auto& step : result.test.steps) {
    steps.push_back({{"name", step.name}, {"passed", step.passed}, {"detail", step.detail}});
    failed += !step.passed;
    if (!step.passed || arguments.has("all"))
      reply.text +=
          fmt::format("{:<6} {:<24} {}\n", step.passed ? "ok" : "FAILED", step.name, step.detail);
  }
  if (result.unsettled)
    reply.text += fmt::format("not settled: {}\nnext: a quieter machine, then: ako check\n",
                              result.unsettled->reason);
  const char* sentence = result.unsettled ? "nothing is recorded"
                         : failed == 0    ? "the contract can judge"
                                          : "the contract cannot judge";
  reply.text +=
      fmt::format("{}: {} of {} steps hold ({:.1f} s)\n", sentence,
                  result.test.steps.size() - failed, result.test.steps.size(), result.test.seconds);
  if (failed == 0 && !result.unsettled && depth == loop::CheckDepth::whole)
    reply.text += "next: ako baseline\n";
  reply.data = {{"contract", model::to_json(session.contract())},
                {"passed", failed == 0 && !result.unsettled},
                {"steps", std::move(steps)},
                {"recipes", result.test.recipes},
                {"seconds", result.test.seconds}};
  reply.outcome = result.outcome;
  return reply;
}

} // namespace

extern const Command k_check{
    "check",
    "prove that the contract can judge",
    "Builds every side, puts lazy answers and damaged ones to the comparison (each must fail), "
    "the\n"
    "baseline against itself (a draw), a planted slow-down (it must be seen) and a canary edit.",
    {},
    {{"build-only", "", "stop after building; needs no measuring", Arity::flag},
     {"echo", "", "print the contract as ako understood it, every default spelled out",
      Arity::flag},
     {"all", "", "show the steps that hold as well", Arity::flag}},
    {"ako check", "ako check --all", "ako -C tasks/rmsnorm check --echo"},
    run};

} // namespace ako::cli
