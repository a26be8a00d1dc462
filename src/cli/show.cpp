#include "cli/command.hpp"
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

std::string evidence_text(const model::Outcome& outcome) {
  if (outcome.evidence.empty()) return "no evidence against it is on record\n";
  std::string out;
  for (const auto& evidence : outcome.evidence)
    out += fmt::format("{} ({}): {}\n{}\n", evidence.guard,
                       evidence.decisive ? "decisive" : "weak sign", evidence.text,
                       base::dump_json(evidence.data, 2));
  return out;
}

base::Json samples_json(const std::vector<model::Sample>& samples) {
  base::Json out = base::Json::array();
  for (const auto& row : samples)
    out.push_back({row.shape, row.placement, row.pair, model::to_string(row.side), row.order,
                   base::number_or_null(row.device_ns), row.calls, row.flags});
  return out;
}

base::Expected<Reply> run(const Context& context, const Arguments& arguments) {
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
                       .found = fmt::format("{}", wanted),
                       .allowed = standing.iterations > 0
                                      ? fmt::format("1 to {}", standing.iterations)
                                      : "none is on record yet",
                       .next = "ako log"});
  AKO_TRY(std::string commit, reader.commit_of(wanted));
  AKO_TRY(std::string diff, blob_named(reader, recorded->event, "diff"));
  AKO_TRY(std::string evaluation, blob_named(reader, recorded->event, "evaluation"));
  Reply reply;
  const auto& outcome = recorded->payload.verdict.outcome;
  if (arguments.has("evidence")) reply.text = evidence_text(outcome);
  else
    reply.text =
        report::show_iteration(*recorded, commit, arguments.has("diff") ? diff : std::string());
  reply.data = {{"iteration", ledger::to_json(recorded->payload)}, {"commit", commit}};
  if (arguments.has("diff")) reply.data["diff"] = diff;
  if (auto parsed = base::parse_json(evaluation, "evaluation"); parsed && !evaluation.empty())
    reply.data["evaluation"] = std::move(*parsed);
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
    "Hypothesis, prediction, verdict per shape, decision, commit; with --evidence what the judge\n"
    "saw, with the seed and place that let it be seen again.",
    {{"iteration", "its number; the last one when left out", Arity::one, false}},
    {{"diff", "", "what was changed against the incumbent of the moment", Arity::flag},
     {"evidence", "", "the judge's evidence", Arity::flag},
     {"samples", "", "every raw sample", Arity::flag}},
    {"ako show", "ako show 4 --diff", "ako show 3 --evidence", "ako show 5 --samples --json"},
    run};

} // namespace ako::cli
