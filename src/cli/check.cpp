#include "loop/check.hpp"
#include "cli/command.hpp"
#include "cli/whole.hpp"
#include "cli/words.hpp"
#include "lanes/registry.hpp"
#include "loop/not_judged.hpp"
#include "model/contract_toml.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Json sides_json(const std::vector<loop::SideReport>& sides) {
  base::Json list = base::Json::array();
  for (const auto& side : sides)
    list.push_back({{"label", side.label},
                    {"resources", side.resources},
                    {"compiler_messages", messages_json(side.messages)}});
  return list;
}

std::string sides_text(const std::vector<loop::SideReport>& sides, bool with_resources) {
  std::string text;
  for (const auto& side : sides) {
    const std::string report = with_resources ? lanes::resource_text(side.resources) : "";
    if (!report.empty()) text += side.label + "\n" + report;
    text += messages_text(side.messages, 5);
  }
  return text;
}

base::Expected<Reply> run_check(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  session.use_device(arguments.maybe("device"));
  Reply reply;
  if (arguments.has("echo")) {
    reply.text = model::echo_toml(session.contract());
    reply.data["contract"] = model::to_json(session.contract());
    return reply;
  }
  const auto depth = arguments.has("build-only")  ? loop::CheckDepth::build_only
                     : arguments.has("interpret") ? loop::CheckDepth::interpreted
                                                  : loop::CheckDepth::whole;
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
  const bool build_only = depth != loop::CheckDepth::whole;
  reply.text += sides_text(result.sides, build_only || arguments.has("all"));
  if (result.unsettled)
    reply.text += fmt::format("not settled: {}\nnext: a quieter machine, then: ako check\n",
                              result.unsettled->reason);
  const bool interpreted = depth == loop::CheckDepth::interpreted;
  const char* good = interpreted  ? "interpreted, the answers are right"
                     : build_only ? "everything builds"
                                  : "the contract can judge";
  const char* bad = interpreted  ? "interpreted, not everything holds"
                    : build_only ? "not everything builds"
                                 : "the contract cannot judge";
  const char* sentence = result.unsettled ? "nothing is recorded" : failed == 0 ? good : bad;
  reply.text +=
      fmt::format("{}: {} of {} steps hold ({:.1f} s)\n", sentence,
                  result.test.steps.size() - failed, result.test.steps.size(), result.test.seconds);
  if (failed != 0 && result.why && !result.unsettled) {
    reply.error = whole(*result.why, "check");
    reply.text += closing_text(*reply.error);
  }
  if (failed == 0 && !result.unsettled && depth == loop::CheckDepth::whole)
    reply.text += "next: ako baseline\n";
  reply.data = {{"contract", model::to_json(session.contract())},
                {"passed", failed == 0 && !result.unsettled},
                {"steps", std::move(steps)},
                {"sides", sides_json(result.sides)},
                {"recipes", result.test.recipes},
                {"seconds", result.test.seconds}};
  reply.warnings = loop::not_judged(session.contract());
  reply.warnings.insert(reply.warnings.end(), result.warnings.begin(), result.warnings.end());
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
    {{"build-only", "", "stop after building; needs neither measuring nor a device", Arity::flag},
     {"interpret", "",
      "triton lane: judge under Triton's interpreter on the host; nothing is timed", Arity::flag},
     {"device", "ID", k_device_help},
     {"echo", "", "print the contract as ako understood it, every default spelled out",
      Arity::flag},
     {"all", "", "show the steps that hold as well", Arity::flag}},
    {"ako check", "ako check --all", "ako -C tasks/rmsnorm check --echo"},
    run_check};

} // namespace ako::cli
