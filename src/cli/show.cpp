#include "cli/command.hpp"
#include "cli/words.hpp"
#include "loop/replay.hpp"
#include "loop/session.hpp"
#include "report/text/tables.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Expected<std::string> blob_named(ledger::Reader& reader, const ledger::Event& event,
                                       const std::string& name) {
  for (const auto& blob : event.blobs)
    if (blob.name == name) return reader.blob(blob.hash);
  return std::string();
}

/// "phase check, shape N=64, tensor y, set 1, recipe plain, seed 0x12, epoch 0": what decides what
/// the worker saw.
std::string place_text(const base::Json& data) {
  std::string out;
  const base::Json& place = data.is_object() && data.contains("place") ? data["place"] : data;
  if (!place.is_object()) return out;
  for (const char* key : {"phase", "shape", "where", "tensor", "placement", "set", "recipe", "seed",
                          "epoch", "during"}) {
    if (!place.contains(key)) continue;
    const base::Json& value = place[key];
    if ((value.is_number() && value.get<double>() < 0) || (value.is_string() && value.empty()) ||
        value == "")
      continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", key,
                       value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out;
}

std::string evidence_text(std::int64_t number, const model::Outcome& outcome) {
  if (outcome.evidence.empty()) return "no evidence against it is on record\n";
  std::string out;
  for (const auto& evidence : outcome.evidence) {
    out += fmt::format("{} ({}): {}\n", evidence.guard,
                       evidence.decisive ? "decisive" : "weak sign", evidence.text);
    if (const std::string place = place_text(evidence.data); !place.empty())
      out += "  " + place + "\n";
    base::Json rest = evidence.data;
    if (rest.is_object()) rest.erase("place");
    if (!rest.empty()) out += base::dump_json(rest, 2) + "\n";
  }
  return out + fmt::format("judged again under the same seeds by: ako show {} --replay\n", number);
}

std::string replay_text(const loop::Replayed& replayed) {
  std::string out =
      fmt::format("on record: {}\nthis time: {}: {}\n", model::to_string(replayed.recorded.kind),
                  model::to_string(replayed.now.kind), replayed.now.reason);
  for (const auto& line : replayed.evidence)
    out += fmt::format("{}  {}: {}\n", line.again ? "seen again    " : "not seen again",
                       line.recorded.guard, line.again ? line.text : line.recorded.text);
  for (const auto& evidence : replayed.others)
    out += fmt::format("seen now only   {}: {}\n", evidence.guard, evidence.text);
  if (replayed.evidence.empty()) out += "no evidence against it is on record\n";
  return out;
}

base::Json replay_json(const loop::Replayed& replayed) {
  base::Json lines = base::Json::array(), others = base::Json::array();
  for (const auto& line : replayed.evidence)
    lines.push_back({{"guard", line.recorded.guard}, {"again", line.again}, {"text", line.text}});
  for (const auto& evidence : replayed.others)
    others.push_back({{"guard", evidence.guard}, {"text", evidence.text}});
  return {{"recorded", model::to_string(replayed.recorded.kind)},
          {"now", model::to_string(replayed.now.kind)},
          {"reason", replayed.now.reason},
          {"seed", replayed.report.seed},
          {"evidence", std::move(lines)},
          {"others", std::move(others)}};
}

/// Runs the whole judgement again; the record stays as it is.
base::Expected<Reply> run_replay(const Context& context, std::int64_t number) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  AKO_TRY(loop::Replayed replayed, loop::replay_iteration(session, number));
  Reply reply;
  reply.text = replay_text(replayed);
  reply.data = {{"iteration", number}, {"replay", replay_json(replayed)}};
  if (!replayed.all_again())
    reply.warnings.emplace_back("not all of the recorded evidence was seen again");
  return reply;
}

base::Json samples_json(const std::vector<model::Sample>& samples) {
  base::Json out = base::Json::array();
  for (const auto& row : samples)
    out.push_back({row.shape, row.placement, row.pair, model::to_string(row.side), row.order,
                   base::number_or_null(row.device_ns), row.calls, row.flags});
  return out;
}

base::Expected<Reply> run_show(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::record));
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(ledger::Standing standing, reader.standing());
  Arguments number;
  if (auto text = arguments.maybe("iteration")) number.add("iteration", *text);
  AKO_TRY(std::int64_t wanted, number.integer("iteration", standing.iterations));
  AKO_TRY(auto recorded, reader.iteration(wanted));
  if (!recorded)
    return base::fail(base::ErrorKind::usage, "no such iteration",
                      {.where = "ako show",
                       .found = arguments.text("iteration", "none is on record yet"),
                       .allowed = standing.iterations > 0
                                      ? fmt::format("1 to {}", standing.iterations)
                                      : "an iteration that is on record",
                       .next = standing.iterations > 0 ? "ako log" : "ako try makes the first"});
  if (arguments.has("replay")) return run_replay(context, wanted);
  AKO_TRY(std::string commit, reader.commit_of(wanted));
  AKO_TRY(std::string diff, blob_named(reader, recorded->event, "diff"));
  AKO_TRY(std::string evaluation, blob_named(reader, recorded->event, "evaluation"));
  Reply reply;
  say_whose_record(session, reply);
  const auto& outcome = recorded->payload.verdict.outcome;
  base::Json judged = base::Json::object();
  if (auto parsed = base::parse_json(evaluation, "evaluation"); parsed && !evaluation.empty())
    judged = std::move(*parsed);
  if (arguments.has("evidence")) reply.text = evidence_text(wanted, outcome);
  else
    reply.text = report::show_iteration(*recorded, judged, commit,
                                        arguments.has("diff") ? diff : std::string());
  reply.data = {{"iteration", ledger::to_json(recorded->payload)}, {"commit", commit}};
  if (arguments.has("diff")) reply.data["diff"] = diff;
  const base::Json machine = base::get_or<base::Json>(judged, "machine", base::Json::object());
  if (!arguments.has("evidence"))
    reply.text +=
        report::counted_text(base::get_or<base::Json>(machine, "counted", base::Json::array()));
  if (!judged.empty()) reply.data["evaluation"] = std::move(judged);
  if (arguments.has("samples")) {
    AKO_TRY(auto samples, reader.samples(recorded->event.seq));
    reply.data["samples"] = samples_json(samples);
    if (!context.json)
      for (const auto& row : samples)
        reply.text +=
            fmt::format("{}\t{}\t{}\t{}\t{}\t{:.1f}\t{}\t{}\n", row.shape, row.placement, row.pair,
                        model::to_string(row.side), row.order, row.device_ns, row.calls, row.flags);
  }
  return reply;
}

} // namespace

extern const Command k_show{
    "show",
    "one iteration in full",
    "Hypothesis, prediction, verdict per shape, decision, commit, and instructions, cycles and\n"
    "cache misses of one call where the machine gives them; with --evidence what the judge saw,\n"
    "with seed and place; with --replay its sources are built and judged again under the recorded\n"
    "seeds, and each piece of evidence is looked for. Nothing is recorded by that.",
    {{"iteration", "its number; the last one when left out", Arity::one, false}},
    {{"diff", "", "what was changed against the incumbent of the moment", Arity::flag},
     {"evidence", "", "the judge's evidence", Arity::flag},
     {"replay", "", "judge it again under the recorded seeds", Arity::flag},
     {"samples", "", "every raw sample", Arity::flag}},
    {"ako show", "ako show 4 --diff", "ako show 3 --evidence", "ako show 3 --replay",
     "ako show 5 --samples --json"},
    run_show};

} // namespace ako::cli
