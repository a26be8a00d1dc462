#include "loop/check.hpp"

#include "base/log.hpp"
#include "base/time.hpp"
#include "evaluation/oracle.hpp"
#include "loop/ahead.hpp"
#include "loop/cannot_judge.hpp"
#include "loop/deciding_files.hpp"
#include "loop/recipes.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace ako::loop {
namespace {

/// Probes and mutants need no large buffers.
constexpr std::int64_t k_self_test_bytes = 8ll << 20;

class Check {
public:
  Check(const Session& session, Target target)
      : m_session(session), m_target(std::move(target)),
        m_builder(session.workdir(), session.contract(), m_target.architecture()) {}

  base::Expected<CheckResult> run(CheckDepth depth) {
    const std::int64_t started = base::monotonic_ns();
    m_out.test.contract = m_session.contract().hash;
    if (depth == CheckDepth::whole) AKO_TRY_STATUS(m_session.record_is_there());
    AKO_TRY_STATUS(build_all());
    if (depth == CheckDepth::build_only) AKO_TRY_STATUS(compile_all());
    if (depth == CheckDepth::interpreted) AKO_TRY_STATUS(interpret());
    if (depth != CheckDepth::whole) return finish(started);
    AKO_TRY(base::FileLock lock, m_session.lock());
    AKO_TRY(m_lease, take_lease(m_target));
    AKO_TRY_STATUS(probes_and_mutants());
    if (m_failed == 0) AKO_TRY_STATUS(against_itself());
    if (m_failed == 0) AKO_TRY_STATUS(slow_down());
    // Says nothing about the contract: neither proven nor refuted, so nothing goes on record.
    if (m_out.unsettled) return finish(started);
    AKO_TRY_STATUS(canary());
    m_out.test.passed = m_failed == 0;
    m_out.test.seconds = static_cast<double>(base::monotonic_ns() - started) / 1e9;
    AKO_TRY(ledger::Writer writer, m_session.writer());
    AKO_TRY_STATUS(m_session.note_surroundings(writer, m_builder.compiler()));
    AKO_TRY_STATUS(writer.append(m_out.test).map([](const auto&) {}));
    return finish(started);
  }

private:
  void step(std::string name, bool passed, std::string detail) {
    m_failed += !passed;
    base::detail("{}: {}: {}", passed ? "ok" : "FAILED", name, detail);
    m_out.test.steps.push_back({std::move(name), passed, std::move(detail)});
  }

  /// The first that is given stays: what comes later may follow from it.
  void blame(base::Error why) {
    if (!m_out.why) m_out.why = std::move(why);
  }
  Judged judged() const { return {m_session.contract(), m_session.workdir().task()}; }

  base::Expected<CheckResult> finish(std::int64_t started) {
    m_out.test.passed = m_failed == 0;
    m_out.test.seconds = static_cast<double>(base::monotonic_ns() - started) / 1e9;
    if (m_failed != 0) m_out.outcome = model::OutcomeKind::task_error;
    if (m_out.unsettled) m_out.outcome = m_out.unsettled->kind;
    return std::move(m_out);
  }

  void note(const std::string& label, const Built& built) {
    step("build:" + label, true, built.artifact.compile_line);
    m_out.sides.push_back({label, built.artifact.resources, built.artifact.messages});
    m_all.push_back(built);
  }

  void saw(std::vector<ledger::FileSeen> files) {
    for (auto& file : files) m_out.test.files.push_back(std::move(file));
  }

  /// Where there is no device to compile on at the first call: for the one that the contract names.
  base::Status compile_all() {
    const auto& named = m_session.contract().kernel.architectures;
    const std::string architecture = named.empty() ? m_target.architecture() : named.front();
    for (std::size_t i = 0; i < m_all.size(); ++i) {
      if (!compiles_at_run(m_all[i]) || architecture.empty()) continue;
      base::progress(0.5, "compiling for " + architecture);
      AKO_TRY(const AheadReport report, compile_ahead(m_session.workdir(), m_session.contract(),
                                                      m_session.shapes(), m_all[i], architecture));
      step("compile:" + m_out.sides[i].label, !report.trouble,
           report.trouble ? report.trouble->reason : "for " + architecture + ", not run");
      if (report.trouble)
        blame(solution_error(judged(),
                             {base::ErrorKind::invalid,
                              m_out.sides[i].label + " does not compile for " + architecture,
                              {},
                              report.trouble->reason,
                              {},
                              {}}));
      m_out.sides[i].resources = report.resources;
    }
    return {};
  }

  base::Status interpret() {
    if (m_session.contract().kernel.lane != model::Lane::triton)
      return base::fail(base::ErrorKind::usage, "only the triton lane has an interpreter",
                        {.where = "--interpret",
                         .found = model::to_string(m_session.contract().kernel.lane),
                         .allowed = "lane = \"triton\"",
                         .next = "ako check --build-only"});
    if (!m_solution) return {};
    base::progress(0.5, "interpreting");
    Sides sides = m_sides;
    sides.candidate = *m_solution;
    AKO_TRY(const InterpretReport report,
            judge_interpreted(m_session.workdir(), m_session.contract(), m_session.shapes(), sides,
                              {inputs::Recipe::plain}));
    std::string shapes;
    for (const auto& tag : report.shapes) shapes += (shapes.empty() ? "" : ", ") + tag;
    step("interpreted", !report.trouble && !report.shapes.empty(),
         report.trouble
             ? report.trouble->reason
             : "right at " + (shapes.empty() ? "no shape that is small enough" : shapes) +
                   "; interpreted on the host, never timed");
    if (report.trouble)
      blame(solution_error(judged(), {base::ErrorKind::invalid,
                                      "solution/ is not right under the interpreter",
                                      {},
                                      report.trouble->reason,
                                      "the reference's answers within the tolerance",
                                      {}}));
    else if (report.shapes.empty())
      blame({base::ErrorKind::invalid, "no shape is small enough to be interpreted",
             "task.toml [[shape]]", "0 shapes were interpreted", "a shape of few elements",
             "add a small one, then: ako check --interpret"});
    return {};
  }

  /// All sides at the same time.
  base::Status build_all() {
    base::progress(0, "building");
    auto solution = begin_build([&] { return m_builder.candidate(); });
    auto judge = begin_build([&] { return m_builder.reference(); });
    std::vector<std::future<base::Expected<BuildOutcome>>> baselines;
    for (const auto& baseline : m_session.contract().baselines)
      baselines.push_back(
          begin_build([this, name = baseline.name] { return m_builder.baseline(name); }));
    AKO_TRY(Built reference, must_build(judge.get()));
    note("reference", reference);
    saw(files_of("reference", reference));
    m_sides.reference = std::move(reference);
    for (std::size_t i = 0; i < baselines.size(); ++i) {
      AKO_TRY(Built built, must_build(baselines[i].get()));
      const std::string label = "baseline:" + m_session.contract().baselines[i].name;
      note(label, built);
      saw(files_of(label, built));
      if (m_baseline.empty()) {
        m_baseline = m_session.contract().baselines[i].name;
        m_sides.candidate = m_sides.incumbent = std::move(built);
      }
    }
    AKO_TRY(auto fills, files_of_fills(m_session.workdir(), m_builder));
    saw(std::move(fills));
    AKO_TRY(BuildOutcome candidate, solution.get());
    m_solution = candidate.built;
    if (candidate.built) {
      note("solution", *candidate.built);
    } else {
      const auto& error = candidate.result.error;
      const std::string& reason = candidate.result.outcome.reason;
      step("build:solution", false, error ? error->text() : reason);
      blame(solution_error(judged(),
                           error ? *error
                                 : base::Error{base::ErrorKind::invalid, reason, {}, {}, {}, {}}));
    }
    if (m_baseline.empty()) {
      if (!candidate.built) return {};
      m_sides.candidate = m_sides.incumbent = std::move(*candidate.built);
      m_baseline = "solution";
    }
    m_sides.against = "baseline:" + m_baseline;
    return {};
  }

  Evaluation set_up_sides(const Sides& sides, Scope scope,
                          const std::vector<model::ResolvedShape>& shapes) {
    return set_up(m_session.workdir(), m_session.contract(), shapes, sides, {inputs::Recipe::plain},
                  scope, m_target);
  }

  base::Status probes_and_mutants() {
    base::progress(0.1, "probes and mutants");
    auto setup = set_up_sides(m_sides, Scope::contract_shapes, m_session.shapes());
    AKO_TRY(std::unique_ptr<evaluation::Stage> stage, setup.make_stage());
    AKO_TRY(judge::SelfTestReport report,
            evaluation::self_test(*stage, setup.request, k_self_test_bytes));
    for (const auto& line : report.lines) {
      if (line.result == judge::SelfTestLine::Result::not_applicable) continue;
      step(line.name, line.result == judge::SelfTestLine::Result::failed_as_it_must,
           fmt::format("{} at {}: {}", line.tensor, line.shape, line.detail));
    }
    if (m_failed == 0)
      for (const auto& fault : report.faults) step("reference", false, fault.text);
    if (!report.faults.empty()) blame(self_test_error(judged(), report));
    m_out.warnings = report.warnings;
    for (inputs::Recipe recipe : report.judged)
      m_out.test.recipes.emplace_back(inputs::to_string(recipe));
    return {};
  }

  /// Ended by the machine or by the user, not by what was measured.
  bool unsettled(const evaluation::Report& report) {
    const auto& outcome = report.verdict.outcome;
    const bool machine = outcome.fault == model::Fault::machine;
    if (machine || outcome.kind == model::OutcomeKind::interrupted) m_out.unsettled = outcome;
    return m_out.unsettled.has_value();
  }

  /// `undecided` is no claim either, as long as no difference may be one.
  static bool is_draw(const model::Verdict& verdict) {
    const auto kind = verdict.outcome.kind;
    const bool open = verdict.interval.low <= 0 && verdict.interval.high >= 0;
    return kind == model::OutcomeKind::equivalent ||
           (kind == model::OutcomeKind::undecided && open);
  }

  /// Of an interval around 0: the difference that it would hide.
  static double hidden_by(const model::Verdict& verdict) {
    if (verdict.outcome.kind == model::OutcomeKind::equivalent) return 0;
    return std::max(-verdict.interval.low, verdict.interval.high);
  }

  /// Right, and a draw: what must not come is a winner or a loser.
  base::Status against_itself() {
    auto setup = set_up_sides(m_sides, Scope::whole, m_session.shapes());
    setup.request.second_opinion = false;
    setup.request.most_placements = 4; // enough for a false winner to show itself
    for (const auto& name : m_out.test.recipes)
      if (auto recipe = inputs::recipe_from(name); recipe && *recipe != inputs::Recipe::plain)
        setup.request.recipes.push_back(*recipe);
    AKO_TRY(evaluation::Report report, evaluation::evaluate(setup.request, setup.make_stage));
    if (unsettled(report)) return {};
    if (report.verdict.outcome.kind == model::OutcomeKind::undecided &&
        (!is_draw(report.verdict) || hidden_by(report.verdict) > k_slow_share)) {
      // One interval in a hundred leaves 0 out by itself, and one that holds everything shows
      // nothing: all the placements there are, then.
      setup.request.most_placements = 0;
      AKO_TRY(report, evaluation::evaluate(setup.request, setup.make_stage));
      if (unsettled(report)) return {};
    }
    const double hidden = hidden_by(report.verdict);
    if (is_draw(report.verdict) && hidden > k_slow_share) {
      m_out.unsettled = model::Outcome{
          model::OutcomeKind::invalid_measurement,
          model::Fault::machine,
          "what is measured against itself could differ by more than a quarter unseen: " +
              report.verdict.outcome.reason,
          {}};
      return {};
    }
    if (const double least = m_session.contract().accept.min_gain; hidden > least)
      m_out.warnings.push_back(fmt::format(
          "{} against itself is a draw within {:.1f} %, not within the minimum gain of {:g} %: the "
          "machine is restless, and small gains will stay undecided on it",
          m_sides.against, 100 * hidden, 100 * least));
    step("a/a", is_draw(report.verdict),
         fmt::format("{} against itself: {}: {}", m_sides.against,
                     model::to_string(report.verdict.outcome.kind), report.verdict.outcome.reason));
    if (!is_draw(report.verdict))
      blame(no_draw_error(judged(), m_sides.against, report.verdict.outcome));
    return {};
  }

  /// solution/ as it stands against itself with a known share added to each call: it must lose.
  base::Status slow_down() {
    AKO_TRY(Built slow, must_build(m_builder.from_sources(m_solution->sources,
                                                          lanes::Role::candidate, {k_slow_flag})));
    Sides sides{std::move(slow), *m_solution, std::nullopt, "solution"};
    // Short calls of the same code differ by more than a quarter where its branches lie otherwise:
    // on the host both sides get the same shim, one with next to nothing to spin for.
    if (m_session.contract().kernel.lane == model::Lane::cpu) {
      AKO_TRY(sides.incumbent, must_build(m_builder.from_sources(
                                   m_solution->sources, lanes::Role::incumbent, {k_no_slow_flag})));
    }
    auto setup = set_up_sides(sides, Scope::contract_shapes, m_session.shapes());
    setup.request.second_opinion = false;
    AKO_TRY(evaluation::Report report, evaluation::evaluate(setup.request, setup.make_stage));
    if (unsettled(report)) return {};
    if (report.verdict.outcome.kind == model::OutcomeKind::undecided) {
      // Neither seen nor missed: the machine is too restless to say.
      m_out.unsettled = model::Outcome{model::OutcomeKind::invalid_measurement,
                                       model::Fault::machine,
                                       "a planted slow-down of a quarter could not be told: " +
                                           report.verdict.outcome.reason,
                                       {}};
      return {};
    }
    const bool seen = report.verdict.outcome.kind == model::OutcomeKind::regressed;
    step("slow_down", seen,
         fmt::format("the same code taking a quarter longer: {}: {}",
                     model::to_string(report.verdict.outcome.kind), report.verdict.outcome.reason));
    if (!seen) blame(slow_down_error(judged(), report.verdict.outcome));
    return {};
  }

  /// An edit that cannot compile must be noticed, in every declared source: what is measured is
  /// what stands in solution/.
  base::Status canary() {
    AKO_TRY(model::Sources sources,
            workspace::take_snapshot(m_session.workdir(), m_session.contract()));
    for (const auto& text : sources.texts)
      if (takes_canary(text.path)) AKO_TRY_STATUS(canary(sources.texts, text.path));
    return {};
  }

  static bool is_python(model::Lane lane) {
    return lane == model::Lane::triton || lane == model::Lane::cute_dsl;
  }

  /// A module that an interpreter imports is read when it is imported, not when the entry is built.
  bool takes_canary(const std::string& path) const {
    const auto& kernel = m_session.contract().kernel;
    if (path == kernel.entry.file) return true;
    static const std::set<std::string> compiled = {".c",   ".cc",  ".cpp", ".cxx", ".cu", ".h",
                                                   ".hpp", ".hxx", ".cuh", ".inl", ".ipp"};
    const bool declared =
        std::any_of(kernel.sources.begin(), kernel.sources.end(), [&](const std::string& each) {
          return base::fs::path(each).lexically_normal() == base::fs::path(path);
        });
    return declared && !is_python(kernel.lane) &&
           compiled.contains(base::fs::path(path).extension().string());
  }

  base::Status canary(std::vector<model::SourceText> texts, const std::string& path) {
    // No compiler takes this, nor does an interpreter.
    for (auto& text : texts)
      if (text.path == path)
        text.content += is_python(m_session.contract().kernel.lane)
                            ? "\ncanary: this edit must be noticed!\n"
                            : "\n#error \"canary: this edit must be noticed\"\n";
    AKO_TRY(BuildOutcome outcome, m_builder.from_sources(workspace::make_sources(std::move(texts)),
                                                         lanes::Role::candidate));
    step("canary", !outcome.built.has_value(),
         outcome.built ? "an edit of " + path + " that cannot compile was not noticed"
                       : "an edit of " + path + " is noticed");
    if (outcome.built) blame(canary_error(judged(), path));
    return {};
  }

  /// The shim spins for a quarter of each call's own time.
  static constexpr const char* k_slow_flag = "-DAKO_PLANT_SLOW_DOWN=4";
  static constexpr double k_slow_share = 0.25;
  static constexpr const char* k_no_slow_flag = "-DAKO_PLANT_SLOW_DOWN=1000000000";
  const Session& m_session;
  Target m_target;
  Builder m_builder;
  Sides m_sides;
  std::optional<Built> m_solution;
  std::vector<Built> m_all; ///< in the order of m_out.sides
  std::string m_baseline;
  std::optional<executors::Lease> m_lease;
  int m_failed = 0;
  CheckResult m_out;
};

} // namespace

base::Expected<CheckResult> check_contract(const Session& session, CheckDepth depth) {
  if (depth == CheckDepth::interpreted) return Check(session, Target{}).run(depth);
  if (depth == CheckDepth::build_only) {
    // Only a contract without architectures asks for the device, and has its own words without one.
    Target target;
    if (session.contract().kernel.architectures.empty())
      if (auto found = session.target()) target = *found;
    return Check(session, std::move(target)).run(depth);
  }
  AKO_TRY(Target target, session.target());
  return Check(session, std::move(target)).run(depth);
}

} // namespace ako::loop
