#include "loop/try.hpp"
#include "cli/command.hpp"
#include "cli/texts.hpp"
#include "cli/words.hpp"
#include "lanes/registry.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::cli {
namespace {

std::string headline(const loop::TryResult& result) {
  const auto& verdict = result.iteration.verdict;
  std::string out =
      fmt::format("[iter {}] {} -> {}", result.number, model::to_string(verdict.outcome.kind),
                  model::to_string(result.step.decision));
  if (verdict.placements > 0)
    out += fmt::format("   gain {} against {}", gain_text(verdict), verdict.against);
  return out + "\n" + verdict.outcome.reason + "\n";
}

/// The first of them; all are in the record.
std::string unproven_text(const loop::TryResult& result) {
  constexpr std::size_t k_most = 2;
  const auto& all = result.unproven;
  std::string out;
  for (std::size_t i = 0; i < std::min(k_most, all.size()); ++i)
    out += "unproven: " + all[i] + "\n";
  if (all.size() > k_most)
    out += fmt::format("unproven: {} more, see ako show {}\n", all.size() - k_most, result.number);
  return out;
}

std::string tail(const loop::TryResult& result) {
  std::string out;
  for (const auto& place : result.places) out += place + "\n";
  out += unproven_text(result);
  if (!result.predicted.empty()) out += "predicted: " + loop::text_of(result.predicted) + "\n";
  if (!result.width.files.empty()) out += "changed: " + result.width.text() + "\n";
  for (const auto& stop : result.stops)
    out += fmt::format("stop: {}\n  next: {}\n", stop.text, stop.next);
  if (!result.restored.empty())
    out += fmt::format("solution/ holds the incumbent again; what was tried is kept as {}\n",
                       result.kept_ref);
  if (result.not_built()) out += "solution/ is left as it is: mend it and try again\n";
  if (!result.commit.empty()) out += fmt::format("commit {}\n", result.commit.substr(0, 12));
  if (result.stalled) {
    const bool again = result.stall && !result.stall->incumbent_again.empty();
    out += fmt::format("three in a row were correct and not better; the incumbent was {}measured "
                       "again. What the log teaches:\n",
                       again ? "" : "not ");
    for (const auto& lesson : result.lessons) out += "  " + lesson + "\n";
    out += "next: ako try --direction \"...\" --hypothesis \"...\"\n";
  }
  return out;
}

base::Json phases_json(const loop::TryResult& result) {
  const auto& phases = result.phases;
  return {{"build_seconds", result.build_seconds},
          {"build_cached", result.build_cached},
          {"load_ns", phases.load_ns},
          {"judge_ns", phases.judge_ns},
          {"measure_ns", phases.measure_ns},
          {"second_opinion_ns", phases.second_ns},
          {"total_ns", phases.total_ns},
          {"inside_ns", phases.inside_ns}};
}

base::Json predicted_json(const loop::TryResult& result) {
  base::Json out = base::Json::array();
  for (const auto& each : result.predicted)
    out.push_back({{"text", each.term.text},
                   {"result", loop::to_string(each.result)},
                   {"found", each.found}});
  return out;
}

base::Json change_json(const loop::ChangeWidth& width) {
  return {{"files", width.files},
          {"functions", width.functions},
          {"added", width.added},
          {"removed", width.removed},
          {"wide", !loop::wider_than_one_idea(width).empty()}};
}

base::Json stops_json(const std::vector<loop::Stop>& stops) {
  base::Json out = base::Json::array();
  for (const auto& stop : stops)
    out.push_back({{"kind", loop::to_string(stop.kind)}, {"text", stop.text}, {"next", stop.next}});
  return out;
}

base::Json json_of(const loop::TryResult& result) {
  return {{"iteration", result.number},
          {"predicted", predicted_json(result)},
          {"change", change_json(result.width)},
          {"tried_before",
           result.tried_before ? base::Json(result.tried_before->number) : base::Json()},
          {"stops", stops_json(result.stops)},
          {"hypothesis", result.iteration.hypothesis},
          {"verdict", model::to_json(result.iteration.verdict)},
          {"decision", model::to_string(result.step.decision)},
          {"decision_reason", result.step.reason},
          {"snapshot", result.iteration.snapshot.hash},
          {"commit", result.commit},
          {"kept_ref", result.kept_ref},
          {"restored", result.restored},
          {"stalled", result.stalled},
          {"lessons", result.lessons},
          {"unproven", result.unproven},
          {"places", result.places},
          {"compiler_messages", messages_json(result.messages)},
          {"resources",
           result.iteration.artifact ? result.iteration.artifact->resources : base::Json(nullptr)},
          {"timing", phases_json(result)}};
}

base::Expected<loop::TryRequest> try_request(const Arguments& arguments) {
  loop::TryRequest out;
  out.hypothesis = arguments.text("hypothesis");
  out.prediction = arguments.text("prediction");
  out.predict = arguments.text("predict");
  out.cites = arguments.text("cites");
  out.direction = arguments.text("direction");
  if (arguments.has("predict-gain")) {
    AKO_TRY(double percent, arguments.number("predict-gain", 0));
    out.predicted_gain = percent / 100;
  }
  out.explore = arguments.has("explore") ? ledger::Explore::yes : ledger::Explore::no;
  AKO_TRY(out.waive, persons_word(arguments, "waive"));
  AKO_TRY(out.flag_risk, persons_word(arguments, "flag"));
  return out;
}

base::Expected<Reply> run_try(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::TryRequest request, try_request(arguments));
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  session.use_device(arguments.maybe("device"));
  AKO_TRY(loop::TryResult result, loop::try_candidate(session, request, write_texts));
  Reply reply;
  reply.outcome = result.iteration.verdict.outcome.kind;
  reply.fault = result.iteration.verdict.outcome.fault;
  reply.text = headline(result);
  if (result.iteration.artifact)
    reply.text += lanes::resource_text(result.iteration.artifact->resources);
  if (!result.iteration.artifact) reply.text += messages_text(result.messages, 5);
  if (result.iteration.verdict.placements > 0)
    reply.text +=
        verdict_table(result.iteration.verdict) + how_text(result.iteration.verdict) + "\n";
  if (!result.iteration.verdict.more_needed.empty() &&
      result.iteration.verdict.outcome.kind == model::OutcomeKind::undecided)
    reply.text += "to decide: " + result.iteration.verdict.more_needed + "\n";
  reply.text += tail(result);
  reply.data = json_of(result);
  reply.warnings = result.warnings;
  return reply;
}

} // namespace

extern const Command k_try{
    "try",
    "one iteration: judge, measure, decide and record what stands in solution/",
    "One hypothesis, one change. Correct first, then fast; a win needs a second opinion. Improved "
    "is\n"
    "kept; what is correct and not better is reverted (its sources stay under refs/ako/). Exit: 0\n"
    "improved, 10 correct and not improved, 11 incorrect, 12 suspect, 13 build, launch, crash, "
    "timeout.",
    {},
    {{"hypothesis", "TEXT", "what was changed and why it should be faster (required)"},
     {"prediction", "TEXT", "what the measurement should show if the hypothesis is right"},
     {"predict", "TERMS",
      "figures it should reach, recorded before and compared after: \"gain >= 20 "
      "%; time[decode-1] <= 5 us; registers <= 64\""},
     {"predict-gain", "PERCENT", "the gain alone, compared afterwards"},
     {"cites", "ID", "the guide, finding or iter-N behind it, or [ID] in the hypothesis"},
     {"direction", "TEXT", "a new direction: opens the gate after a stall"},
     {"explore", "", "does not count towards a stall", Arity::flag},
     {"device", "ID", k_device_help},
     {"flag", "RISK", "keep it although it is not shown to be better, naming the risk"},
     {"waive", "WHY", "go on through a closed gate; stays visible in every report"}},
    {"ako try --cites cpu-kernels --hypothesis \"eight sums in flight hide the latency\"",
     "ako try --hypothesis \"vectors of eight [cpu-kernels]\" --predict \"gain >= 40 %; spills <= "
     "0\"",
     "ako try --hypothesis \"tiles of 128\" --cites tail_wave,iter-3",
     "ako try --direction \"less traffic instead of more arithmetic\" --cites memory-access "
     "--hypothesis \"fuse the cast\""},
    run_try};

} // namespace ako::cli
