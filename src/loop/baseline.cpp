#include "loop/baseline.hpp"

#include "base/log.hpp"
#include "loop/deciding_files.hpp"
#include "loop/environment.hpp"
#include "loop/recipes.hpp"
#include "loop/try.hpp"
#include "workspace/snapshot.hpp"

#include <fmt/format.h>

namespace ako::loop {
namespace {

/// Why a side has no figures, by whose doing that is: the user's, the machine's or the task's.
base::Error ended(const std::string& label, const model::Verdict& verdict) {
  const model::Outcome& outcome = verdict.outcome;
  const char* kind = model::to_string(outcome.kind);
  if (outcome.kind == model::OutcomeKind::interrupted)
    return {base::ErrorKind::interrupted, "stopped; nothing was recorded", label, kind, {},
            "run the same command again"};
  const bool stale = outcome.kind == model::OutcomeKind::stale;
  if (outcome.fault == model::Fault::machine)
    return {stale ? base::ErrorKind::stale : base::ErrorKind::environment,
            fmt::format("{} could not be measured: {}", label, outcome.reason),
            label,
            kind,
            "a machine that is quiet while it is measured on",
            "end other work on this machine, then run the same command again"};
  return {base::ErrorKind::invalid,
          fmt::format("{} has no figures: {}", label, outcome.reason),
          "task.toml",
          kind,
          "a side that runs and agrees with the reference",
          "mend it, the reference or the tolerance, then: ako check"};
}

bool usable(const model::Verdict& verdict) {
  switch (verdict.outcome.kind) {
  case model::OutcomeKind::equivalent:
  case model::OutcomeKind::undecided:
  case model::OutcomeKind::improved:
  case model::OutcomeKind::regressed: return true;
  default: return false;
  }
}

double weighted_ns(const std::vector<ledger::ShapeFigure>& shapes) {
  double sum = 0;
  for (const auto& shape : shapes) sum += shape.weight * shape.p50_ns;
  return sum;
}

base::Expected<evaluation::Report> against_itself(const Session& session, const Built& built,
                                                  const std::optional<Built>& reference,
                                                  const std::string& label) {
  AKO_TRY(const Target target, session.target());
  Sides sides{built, built, reference, label};
  AKO_TRY(auto recipes, judged_recipes(session));
  auto setup = set_up(session.workdir(), session.contract(), session.shapes(), sides, recipes,
                      reference ? Scope::whole : Scope::contract_shapes, target);
  setup.request.second_opinion = false;
  // Figures, not a claim: four placements show the spread.
  setup.request.most_placements = 4;
  return evaluation::evaluate(setup.request, setup.make_stage);
}

} // namespace

base::Expected<BaselineResult>
measure_baseline(const Session& session, const std::optional<std::string>& waive,
                 const std::function<base::Status(const Session&)>& write_texts) {
  AKO_TRY(base::FileLock lock, session.lock());
  AKO_TRY_STATUS(session.workdir().texts_can_be_written());
  AKO_TRY(Facts facts, session.facts());
  auto closed = closed_gates(Claim::baseline, facts);
  AKO_TRY_STATUS(pass(closed, waive));
  if (session.contract().baselines.empty()) {
    auto none = fastest_baseline(session);
    if (!none) return tl::unexpected(none.error());
  }
  AKO_TRY(const Target target, session.target());
  Builder builder(session.workdir(), session.contract(), target.architecture());
  AKO_TRY(Built reference, must_build(builder.reference()));
  std::vector<Built> all;
  for (const auto& declared : session.contract().baselines) {
    AKO_TRY(Built built, must_build(builder.baseline(declared.name)));
    all.push_back(std::move(built));
  }
  if (closed.empty()) AKO_TRY_STATUS(built_as_proven("reference", reference, facts.proven));
  BaselineResult out;
  AKO_TRY(out.baseline.files, files_of_fills(session.workdir(), builder));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (auto& file : files_of("baseline:" + session.contract().baselines[i].name, all[i]))
      out.baseline.files.push_back(std::move(file));
  AKO_TRY(executors::Lease lease, take_lease(target));
  out.baseline.contract = session.contract().hash;
  out.baseline.environment = facts.environment;
  std::vector<model::Sample> samples;
  double best = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& declared = session.contract().baselines[i];
    const Built& built = all[i];
    AKO_TRY(evaluation::Report report,
            against_itself(session, built, reference, "baseline:" + declared.name));
    if (!usable(report.verdict))
      return tl::unexpected(ended("baseline:" + declared.name, report.verdict));
    ledger::BaselineEntry entry{declared.name, built.artifact,
                                figures(report.samples, session.shapes(), model::Side::candidate)};
    const double total = weighted_ns(entry.shapes);
    if (out.baseline.fastest.empty() || total < best) {
      best = total;
      out.baseline.fastest = declared.name;
      out.baseline.hash = built.artifact.library_hash;
      out.baseline.how = how_taken(report, target);
      samples = report.samples.rows;
    }
    out.baseline.entries.push_back(std::move(entry));
    out.verdicts.push_back(report.verdict);
  }
  AKO_TRY(model::Sources start, workspace::take_snapshot(session.workdir(), session.contract()));
  AKO_TRY_STATUS(
      workspace::keep_snapshot(session.workdir(), start, "iter-0").map([](const auto&) {}));
  AKO_TRY(ledger::Writer writer, session.writer());
  for (const auto& gate : closed)
    AKO_TRY_STATUS(writer.append(ledger::Waiver{to_string(gate.gate), *waive, "baseline", "user"})
                       .map([](const auto&) {}));
  AKO_TRY_STATUS(session.note_surroundings(writer, builder.compiler()));
  AKO_TRY_STATUS(writer.append(out.baseline, {}, std::move(samples)).map([](const auto&) {}));
  if (write_texts) AKO_TRY_STATUS(write_texts(session));
  return out;
}

base::Expected<ledger::Bench> bench(const Session& session, const std::string& what) {
  AKO_TRY(const Target target, session.target());
  Builder builder(session.workdir(), session.contract(), target.architecture());
  Built built;
  if (what == "solution") {
    AKO_TRY(built, must_build(builder.candidate()));
  } else if (what == "incumbent") {
    AKO_TRY(Incumbent incumbent, incumbent_of(session));
    AKO_TRY(built, build_incumbent(builder, incumbent));
  } else if (what.rfind("baseline:", 0) == 0) {
    AKO_TRY(built, must_build(builder.baseline(what.substr(9))));
  } else {
    return base::fail(base::ErrorKind::usage, "no such side",
                      {.where = "ako bench",
                       .found = what,
                       .allowed = "solution, incumbent, baseline:<name>",
                       .next = "ako bench --help"});
  }
  AKO_TRY(executors::Lease lease, take_lease(target));
  AKO_TRY(evaluation::Report report, against_itself(session, built, std::nullopt, what));
  if (!usable(report.verdict)) return tl::unexpected(ended(what, report.verdict));
  ledger::Bench out;
  out.what = what;
  out.snapshot = built.sources.snapshot.hash;
  out.shapes = figures(report.samples, session.shapes(), model::Side::candidate);
  out.how = how_taken(report, target);
  AKO_TRY(ledger::Standing standing, session.standing());
  if (standing.events > 0) {
    AKO_TRY(ledger::Writer writer, session.writer());
    AKO_TRY_STATUS(writer.append(out, {}, report.samples.rows).map([](const auto&) {}));
  }
  return out;
}

} // namespace ako::loop
