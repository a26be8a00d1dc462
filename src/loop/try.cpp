#include "loop/try.hpp"

#include "base/log.hpp"
#include "base/time.hpp"
#include "executors/runner.hpp"
#include "loop/catch_up.hpp"
#include "loop/deciding_files.hpp"
#include "loop/environment.hpp"
#include "loop/interrupt.hpp"
#include "loop/lane.hpp"
#include "loop/profile.hpp"
#include "loop/reading.hpp"
#include "model/contract_toml.hpp"
#include "model/nearest.hpp"
#include "workspace/commit.hpp"
#include "workspace/commit_paths.hpp"
#include "workspace/git.hpp"
#include "workspace/revert.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::loop {
namespace {

/// Whether the candidate's sources make way for the incumbent's. A candidate that does not build is
/// left to be mended; what ended through no fault of its own stays to be tried again.
bool makes_way(model::OutcomeKind kind) {
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

/// One `ako try`, step by step; each step leaves what the next one needs in a member.
class Try {
public:
  Try(const Session& session, const TryRequest& request, const TextWriter& write_texts,
      Target target)
      : m_session(session), m_request(request), m_write_texts(write_texts),
        m_target(std::move(target)),
        m_builder(session.workdir(), session.contract(), m_target.architecture()) {}

  base::Expected<TryResult> run() {
    AKO_TRY(base::FileLock lock, m_session.lock());
    AKO_TRY_STATUS(read_prediction());
    AKO_TRY_STATUS(pass_gates());
    const std::int64_t started = base::monotonic_ns();
    if (base::Status built = build(); !built) return ended_early(std::move(built).error());
    look_for_the_same();
    if (m_built) AKO_TRY_STATUS(evaluate());
    if (m_verdict.outcome.kind == model::OutcomeKind::interrupted) return record_interruption();
    m_out.step = decide(m_verdict, m_request.flag_risk);
    if (m_built && m_out.step.decision == model::Decision::keep)
      AKO_TRY_STATUS(measure_against_baseline());
    m_iteration.seconds = static_cast<double>(base::monotonic_ns() - started) / 1e9;
    AKO_TRY_STATUS(record());
    AKO_TRY_STATUS(hold_prediction());
    AKO_TRY_STATUS(settle_files());
    AKO_TRY_STATUS(stall_if_due());
    if (auto found = standing_stops(m_session)) m_out.stops = std::move(*found);
    return std::move(m_out);
  }

private:
  base::Status read_prediction() {
    if (m_request.predict.empty()) return {};
    std::vector<std::string> tags;
    for (const auto& shape : m_session.shapes()) tags.push_back(shape.tag);
    AKO_TRY(m_prediction, parse_prediction(m_request.predict, tags));
    return {};
  }

  /// Said before anything is measured: nobody can bend it to the figures afterwards.
  base::Status note_prediction() {
    if (m_prediction.empty()) return {};
    return append(ledger::Note{
        "prediction", fmt::format("iteration {}: {}", m_out.number, m_request.predict), "user"});
  }

  base::Status hold_prediction() {
    if (m_prediction.empty()) return {};
    m_out.predicted = hold_against(m_prediction, m_verdict, m_iteration.artifact);
    return append(ledger::Note{
        "prediction_outcome",
        fmt::format("iteration {}: {}", m_out.number, text_of(m_out.predicted)), "ako"});
  }

  /// An attempt that failed comes back under another hypothesis, or with other comments: it is
  /// measured again if that is wanted, but not unknowingly.
  void look_for_the_same() {
    auto reader = m_session.reader();
    if (!reader) return;
    auto same = reader->with_snapshot(m_sources.snapshot.hash);
    if (same && *same) m_out.tried_before = **same;
    if (!m_out.tried_before)
      if (auto alike = with_attachment(*reader, base::sha256(normalised_hash(m_sources)));
          alike && *alike)
        m_out.tried_before = **alike;
    if (m_out.tried_before)
      m_out.warnings.push_back(fmt::format(
          "this was tried before: iteration {} ({}) ended {}", m_out.tried_before->number,
          m_out.tried_before->hypothesis, model::to_string(m_out.tried_before->outcome)));
  }

  /// The iteration that carries an attachment of this hash.
  static base::Expected<std::optional<ledger::IterationRow>>
  with_attachment(ledger::Reader& reader, const base::Hash& hash) {
    AKO_TRY(
        base::Statement select,
        reader.database().prepare("SELECT json_extract(json, '$.snapshot.hash') FROM event WHERE "
                                  "kind = 'iteration' AND instr(json, ?) > 0 ORDER BY seq DESC "
                                  "LIMIT 1"));
    select.bind(1, std::string_view(hash));
    AKO_TRY(const bool any, select.step());
    if (!any) return std::optional<ledger::IterationRow>{};
    return reader.with_snapshot(select.text(0));
  }

  base::Status pass_gates() {
    AKO_TRY(m_facts, m_session.facts());
    m_facts.direction_given = !m_request.direction.empty();
    AKO_TRY(m_cited, cited_by(m_request.hypothesis, m_request.cites, m_facts.standing.iterations));
    m_facts.citation = m_cited.empty() ? Citation::none : Citation::given;
    auto closed = closed_gates(Claim::iteration, m_facts);
    AKO_TRY_STATUS(pass(closed, m_request.waive));
    AKO_TRY(ledger::Writer writer, m_session.writer());
    if (writer.recovery()) m_out.warnings.push_back(*writer.recovery());
    m_writer.emplace(std::move(writer));
    AKO_TRY(std::string made_up, catch_up(m_session, *m_writer, m_write_texts));
    if (!made_up.empty()) m_out.warnings.push_back(std::move(made_up));
    for (const auto& gate : closed) {
      m_iteration.waived.push_back(to_string(gate.gate));
      AKO_TRY_STATUS(append(
          ledger::Waiver{to_string(gate.gate), *m_request.waive, "try", m_request.waived_by}));
    }
    m_out.number = m_facts.standing.iterations + 1;
    AKO_TRY_STATUS(note_prediction());
    AKO_TRY(m_incumbent, incumbent_of(m_session));
    return {};
  }

  template <class Payload> base::Status append(const Payload& payload) {
    AKO_TRY(ledger::Appended appended, m_writer->append(payload));
    m_head = appended.hash;
    return {};
  }

  base::Status build() {
    base::progress(0, "building");
    // Mostly found in the cache; when not, they are built while the candidate is.
    auto incumbent = begin_build([&] { return build_incumbent_side(m_builder, m_incumbent); });
    auto reference = begin_build([&] { return m_builder.reference(); });
    AKO_TRY(BuildOutcome candidate, m_builder.candidate());
    AKO_TRY_STATUS(m_session.note_surroundings(*m_writer, m_builder.compiler()));
    m_out.messages = candidate.result.messages;
    if (!candidate.built) {
      AKO_TRY(m_sources, workspace::take_snapshot(m_session.workdir(), m_session.contract()));
      m_verdict.outcome = candidate.result.outcome;
      if (candidate.result.error) m_verdict.outcome.reason = candidate.result.error->text();
      return {};
    }
    m_sources = candidate.built->sources;
    m_out.build_seconds = candidate.built->artifact.build_seconds;
    m_out.build_cached = candidate.built->artifact.from_cache;
    m_sides.candidate = *candidate.built;
    AKO_TRY(m_sides.incumbent, must_build(incumbent.get()));
    AKO_TRY(m_sides.reference, must_build(reference.get()));
    AKO_TRY_STATUS(built_from_what_was_proven());
    m_sides.against = m_incumbent.label;
    if (m_sides.candidate.artifact.library_hash == m_sides.incumbent.artifact.library_hash)
      return base::fail(base::ErrorKind::invalid,
                        "the candidate's binary is the incumbent's, byte for byte: nothing to try",
                        {.where = m_session.contract().kernel.entry.file,
                         .found = m_incumbent.label,
                         .allowed = "sources that compile to something else",
                         .next = "edit solution/ and run it again"});
    m_built = true;
    return {};
  }

  /// The gates looked at files; what judges is what a compiler made of them a moment later.
  base::Status built_from_what_was_proven() {
    const bool proven =
        m_facts.self_test_contract == m_facts.contract && m_facts.changed_since_check.empty();
    const std::string side = "baseline:" + m_incumbent.baseline;
    if (proven) {
      AKO_TRY_STATUS(built_as_proven("reference", *m_sides.reference, m_facts.proven));
      if (m_incumbent.iteration == 0)
        AKO_TRY_STATUS(built_as_proven(side, m_sides.incumbent, m_facts.proven));
    }
    // A baseline's figures are those of a binary: by another compiler it is another baseline.
    const model::Artifact& now = m_sides.incumbent.artifact;
    if (m_incumbent.iteration > 0 || m_facts.baseline.empty() ||
        now.library_hash == m_facts.baseline || now.compiler_identity == m_facts.baseline_compiler)
      return {};
    const ClosedGate other{Gate::baseline,
                           "the baseline now builds into another binary than the one that was "
                           "measured: by " +
                               now.compiler_identity + " instead of " + m_facts.baseline_compiler,
                           "ako baseline"};
    AKO_TRY_STATUS(pass({other}, m_request.waive));
    m_out.warnings.push_back(other.missing);
    m_iteration.waived.push_back(to_string(other.gate));
    return append(
        ledger::Waiver{to_string(other.gate), *m_request.waive, "try", m_request.waived_by});
  }

  base::Status evaluate() {
    AKO_TRY(std::vector<inputs::Recipe> recipes, judged_recipes(m_session));
    auto setup = set_up(m_session.workdir(), m_session.contract(), m_session.shapes(), m_sides,
                        recipes, Scope::whole, m_target);
    AKO_TRY(m_lease, take_lease(m_target));
    setup.request.tried = static_cast<int>(m_facts.standing.iterations) + 1;
    m_hidden_seed = setup.hidden_seed;
    m_recipes = std::move(recipes);
    AKO_TRY(m_report, evaluation::evaluate(setup.request, setup.make_stage));
    m_verdict = m_report.verdict;
    m_out.phases = m_report.phases;
    note_compiled(m_report, m_sides.candidate);
    return {};
  }

  /// The final figure is measured, never a product of steps.
  base::Status measure_against_baseline() {
    if (m_incumbent.iteration == 0) {
      m_iteration.versus_baseline = m_verdict;
      return {};
    }
    AKO_TRY(std::string name, fastest_baseline(m_session));
    Sides sides{m_sides.candidate, {}, std::nullopt, "baseline:" + name};
    AKO_TRY(sides.incumbent, must_build(m_builder.baseline(name)));
    auto setup = set_up(m_session.workdir(), m_session.contract(), m_session.shapes(), sides, {},
                        Scope::contract_shapes, m_target);
    setup.request.second_opinion = false;
    AKO_TRY(evaluation::Report report, evaluation::evaluate(setup.request, setup.make_stage));
    if (report.verdict.outcome.kind == model::OutcomeKind::interrupted)
      m_out.warnings.push_back("stopped before it was measured against the baseline");
    else {
      m_iteration.versus_baseline = report.verdict;
      m_versus_samples = std::move(report.samples.rows);
    }
    return {};
  }

  /// An error before there was anything to judge. That the user stopped it is on record as well.
  tl::unexpected<base::Error> ended_early(base::Error error) {
    if (error.kind == base::ErrorKind::interrupted)
      if (auto noted = append(ledger::Interrupted{"try", error.message, m_out.number}); !noted)
        error = noted.error();
    return tl::unexpected(std::move(error));
  }

  base::Expected<TryResult> record_interruption() {
    AKO_TRY_STATUS(append(ledger::Interrupted{"try", m_verdict.outcome.reason, m_out.number}));
    return base::fail(base::ErrorKind::interrupted, "stopped; nothing was decided",
                      {.where = fmt::format("iteration {}", m_out.number),
                       .found = {},
                       .allowed = {},
                       .next = "solution/ is as it was: run the same command again"});
  }

  base::Status record() {
    AKO_TRY(m_iteration.snapshot.git_tree,
            workspace::keep_snapshot(m_session.workdir(), m_sources,
                                     workspace::kept_name(m_out.number)));
    const std::string tree = m_iteration.snapshot.git_tree;
    m_iteration.snapshot = m_sources.snapshot;
    m_iteration.snapshot.git_tree = tree;
    m_iteration.number = m_out.number;
    m_iteration.hypothesis = m_request.hypothesis;
    m_iteration.prediction = m_request.prediction;
    if (!m_request.predict.empty())
      m_iteration.prediction += (m_iteration.prediction.empty() ? "" : "; ") + m_request.predict;
    m_iteration.predicted_gain = m_request.predicted_gain;
    for (const Term& term : m_prediction)
      if (term.metric == Term::Metric::gain && term.shape.empty() && term.relation.starts_with(">"))
        m_iteration.predicted_gain = term.value;
    m_iteration.cites = model::join(m_cited);
    m_iteration.direction = m_request.direction;
    m_iteration.lane = model::to_string(m_session.contract().kernel.lane);
    m_iteration.explore = m_request.explore;
    if (m_built) m_iteration.artifact = m_sides.candidate.artifact;
    m_iteration.incumbent = m_built ? m_sides.incumbent.sources.snapshot.hash : base::Hash();
    m_iteration.contract = m_session.contract().hash;
    m_iteration.environment = m_facts.environment;
    m_iteration.baseline = m_facts.baseline;
    m_iteration.verdict = m_verdict;
    m_iteration.decision = m_out.step.decision;
    m_iteration.decision_reason = m_out.step.reason;
    m_iteration.how = how_taken(m_report, m_target);
    auto blobs = attachments();
    AKO_TRY(ledger::Appended appended,
            m_writer->append(m_iteration, std::move(blobs), m_report.samples.rows));
    m_head = appended.hash;
    AKO_TRY_STATUS(record_against_baseline());
    if (!m_request.direction.empty())
      AKO_TRY_STATUS(
          append(ledger::Direction{m_request.direction, m_iteration.lane, m_out.number - 1}));
    if (m_report.second)
      AKO_TRY_STATUS(
          append(ledger::SecondOpinion{m_out.number, m_sources.snapshot.hash, m_verdict.confirmed,
                                       "self-timed", *m_report.second}));
    m_out.iteration = m_iteration;
    return {};
  }

  /// With its samples, so that this figure too can be worked out again.
  base::Status record_against_baseline() {
    if (m_versus_samples.empty()) return {};
    ledger::Compare compare;
    compare.old_name = m_iteration.versus_baseline->against;
    compare.new_name = fmt::format("iteration {}", m_out.number);
    compare.new_snapshot = m_sources.snapshot.hash;
    compare.verdict = *m_iteration.versus_baseline;
    compare.how = m_iteration.how;
    AKO_TRY(ledger::Appended appended, m_writer->append(compare, {}, std::move(m_versus_samples)));
    m_head = appended.hash;
    return {};
  }

  /// The difference to the incumbent as git shows it, the judge's lines, what was loaded.
  std::vector<ledger::Attachment> attachments() {
    std::vector<ledger::Attachment> out;
    workspace::Git git(m_session.workdir().task());
    auto prefix = m_session.workdir().ref_prefix();
    if (prefix) {
      const std::string old_ref = *prefix + workspace::kept_name(m_incumbent.iteration);
      const std::string new_ref = *prefix + workspace::kept_name(m_out.number);
      // One line of counts, an empty one, the patch; nothing where nothing changed.
      if (auto diff = git.run(
              {"diff", "--no-color", "--no-ext-diff", "--shortstat", "-p", old_ref, new_ref})) {
        const std::size_t end = diff->find("\n\n");
        m_iteration.change = diff->substr(0, end);
        out.push_back({"diff", end == std::string::npos ? "" : diff->substr(end + 2)});
        m_out.width = width_of(out.back().bytes);
        if (std::string wide = wider_than_one_idea(m_out.width); !wide.empty())
          m_out.warnings.push_back(std::move(wide));
      }
    }
    out.push_back({"normalised", normalised_hash(m_sources)});
    if (m_built) {
      base::Json record = {{"correctness", m_report.correctness},
                           {"loaded", m_report.loaded},
                           {"machine", m_report.machine},
                           {"seed", m_report.seed},
                           {"hidden_seed", fmt::format("{:016x}", m_hidden_seed)},
                           {"recipes", recipe_names()}};
      out.push_back({"evaluation", base::dump_json(record)});
    }
    return out;
  }

  std::vector<std::string> recipe_names() const {
    std::vector<std::string> out;
    for (inputs::Recipe recipe : m_recipes) out.emplace_back(inputs::to_string(recipe));
    return out;
  }

  base::Status stall_if_due() {
    if (!stalls(m_facts.standing, m_verdict, m_request.explore, m_request.direction)) return {};
    AKO_TRY(ledger::Reader reader, m_session.reader());
    AKO_TRY(auto rows, reader.page(50));
    m_out.stalled = true;
    m_out.lessons = lessons(rows);
    ledger::Stall stall;
    stall.after_iteration = m_out.number;
    stall.in_a_row = k_stall_after;
    stall.lessons = m_out.lessons;
    // The iteration is on record and its files are settled: a look that fails or is stopped takes
    // nothing of that back, and the stall is on record without figures.
    auto again = measure_incumbent_again();
    const bool stopped = !again && again.error().kind == base::ErrorKind::interrupted;
    if (again) stall.incumbent_again = std::move(*again);
    else m_out.warnings.push_back("the incumbent was not measured again: " + again.error().text());
    if (!stopped) look_at_incumbent(stall);
    AKO_TRY_STATUS(append(stall));
    m_out.stall = std::move(stall);
    AKO_TRY_STATUS(settle_stall());
    if (stopped) return tl::unexpected(std::move(again).error());
    return {};
  }

  base::Status settle_stall() {
    if (!m_write_texts) return {};
    AKO_TRY_STATUS(m_write_texts(m_session));
    auto id = workspace::commit_paths(
        m_session.workdir(),
        fmt::format("[stall] after iteration {}: a new direction is due\n\nAko-Ledger-Head: {}\n",
                    m_out.number, m_head),
        {"bench", "context", "ITERATIONS.md"});
    if (!id) m_out.warnings.push_back("no commit of the stall was made: " + id.error().text());
    return {};
  }

  /// A stall asks for evidence, not for another guess. A look that fails stops nothing.
  void look_at_incumbent(ledger::Stall& stall) {
    ProfileRequest request;
    request.side = "incumbent";
    auto looked = profile(m_session, request, executors::local_runner());
    if (!looked) {
      m_out.warnings.push_back("the incumbent was not profiled: " + looked.error().text());
      return;
    }
    stall.lessons.push_back("the incumbent's profile: " + profile_summary(*looked));
    m_out.lessons = stall.lessons;
    for (const std::string& warning : looked->warnings) m_out.warnings.push_back(warning);
  }

  /// The incumbent against itself: its figures anew, so that nobody argues from stale ones.
  base::Expected<std::vector<ledger::ShapeFigure>> measure_incumbent_again() {
    Sides sides{m_sides.incumbent, m_sides.incumbent, std::nullopt, m_incumbent.label};
    auto setup = set_up(m_session.workdir(), m_session.contract(), m_session.shapes(), sides, {},
                        Scope::contract_shapes, m_target);
    setup.request.second_opinion = false;
    AKO_TRY(evaluation::Report report, evaluation::evaluate(setup.request, setup.make_stage));
    const model::Outcome& outcome = report.verdict.outcome;
    if (outcome.kind == model::OutcomeKind::interrupted)
      return base::fail(
          base::ErrorKind::interrupted,
          "stopped while the incumbent was measured again after a stall",
          {.where = m_incumbent.label,
           .found = fmt::format("iteration {} is on record and settled", m_out.number),
           .allowed = {},
           .next = "ako status says what is due"});
    if (outcome.fault != model::Fault::none)
      return base::fail(base::ErrorKind::environment, outcome.reason,
                        {.where = m_incumbent.label,
                         .found = model::to_string(outcome.kind),
                         .allowed = "a run of the incumbent to its end",
                         .next = "ako bench incumbent"});
    return figures(report.samples, m_session.shapes(), model::Side::incumbent);
  }

  /// Files last: the record stands whatever happens to them.
  base::Status settle_files() {
    const bool goes_back =
        m_out.step.decision == model::Decision::revert && makes_way(m_verdict.outcome.kind);
    if (goes_back && m_incumbent.iteration == 0 && !m_facts.standing.baseline_event) {
      // A waiver let the loop start without a baseline: nothing was kept that could come back.
      m_out.warnings.push_back("solution/ is left as it is: no baseline is on record to go back "
                               "to");
    } else if (goes_back) {
      AKO_TRY(model::Sources back, standing_sources(m_session, m_incumbent));
      AKO_TRY(workspace::Reverted reverted,
              workspace::restore_sources(m_session.workdir(), m_session.contract(), back,
                                         workspace::kept_name(m_out.number), &m_sources));
      m_out.restored = reverted.restored;
      m_out.kept_ref = reverted.kept_ref;
    }
    if (m_write_texts) AKO_TRY_STATUS(m_write_texts(m_session));
    workspace::IterationCommit commit;
    commit.number = static_cast<int>(m_out.number);
    commit.hypothesis = m_request.hypothesis;
    commit.body = fmt::format("{}: {}", model::to_string(m_out.step.decision), m_out.step.reason);
    commit.ledger_head = m_head;
    auto id = workspace::commit_iteration(m_session.workdir(), commit);
    if (!id) {
      m_out.warnings.push_back("no commit was made: " + id.error().text());
      return {};
    }
    m_out.commit = *id;
    return append(ledger::Committed{m_out.number, *id, commit.ledger_head});
  }

  const Session& m_session;
  const TryRequest& m_request;
  const TextWriter& m_write_texts;
  Target m_target;
  Builder m_builder;
  Facts m_facts;
  std::vector<Term> m_prediction;
  Incumbent m_incumbent;
  std::vector<std::string> m_cited;
  std::optional<ledger::Writer> m_writer;
  std::optional<executors::Lease> m_lease;
  base::Hash m_head;
  model::Sources m_sources;
  Sides m_sides;
  bool m_built = false;
  evaluation::Report m_report;
  std::uint64_t m_hidden_seed = 0;
  std::vector<inputs::Recipe> m_recipes;
  model::Verdict m_verdict;
  std::vector<model::Sample> m_versus_samples; ///< where it was measured against the baseline apart
  ledger::Iteration m_iteration;
  TryResult m_out;
};

} // namespace

base::Expected<TryResult> try_candidate(const Session& session, const TryRequest& request,
                                        const TextWriter& write_texts) {
  if (request.hypothesis.find_first_not_of(" \t\r\n") == std::string::npos)
    return base::fail(base::ErrorKind::usage, "an iteration needs a hypothesis",
                      {.where = "--hypothesis",
                       .found = "nothing",
                       .allowed = "one sentence: what was changed and why it should be faster",
                       .next = "ako try --hypothesis \"...\""});
  AKO_TRY(Target target, session.target());
  return Try(session, request, write_texts, std::move(target)).run();
}

base::Expected<std::vector<Stop>> standing_stops(const Session& session) {
  constexpr std::int64_t k_recent = 6;
  StopFacts facts;
  for (const auto& shape : session.shapes()) facts.shapes.push_back(shape.tag);
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(const auto rows, reader.page(k_recent));
  for (const auto& row : rows) {
    AKO_TRY(auto recorded, reader.iteration(row.number));
    if (recorded) facts.recent.push_back(std::move(recorded->payload));
  }
  AKO_TRY(const auto ports, reader.all<ledger::Port>());
  for (const auto& each : ports) {
    const auto iteration = base::get_or<std::int64_t>(each.payload.data, "iteration", 0);
    // Of one port the last word counts.
    if (each.payload.state == "rejected") {
      facts.rejected_iteration = iteration;
      facts.rejected_reason = each.payload.detail;
      facts.confirmed_iteration = 0;
    }
    if (each.payload.state == "confirmed") facts.confirmed_iteration = iteration;
  }
  return stops(facts);
}

base::Expected<std::string> fastest_baseline(const Session& session) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(auto baseline, reader.last<ledger::Baseline>());
  if (baseline && !baseline->payload.fastest.empty()) return baseline->payload.fastest;
  if (!session.contract().baselines.empty()) return session.contract().baselines.front().name;
  return base::fail(base::ErrorKind::invalid, "the contract names no baseline",
                    {.where = "task.toml",
                     .found = {},
                     .allowed = "[[baseline]] with name and entry",
                     .next = "add the kernel as it is in the target repository as a [[baseline]]"});
}

namespace {

/// [kernel] of the contract that an iteration was kept under, where it is not today's.
base::Expected<std::optional<model::Kernel>> kernel_of(const Session& session,
                                                       std::int64_t number) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(const auto recorded, reader.iteration(number));
  std::optional<model::Kernel> out;
  if (!recorded || recorded->payload.contract == session.contract().hash) return out;
  AKO_TRY(const auto contracts, reader.all<ledger::ContractSeen>());
  for (const auto& each : contracts) {
    if (each.payload.hash != recorded->payload.contract) continue;
    AKO_TRY(model::Contract then,
            model::parse_contract(each.payload.echo, "the contract on record"));
    if (!(then.kernel == session.contract().kernel)) out = std::move(then.kernel);
    return out;
  }
  return out;
}

} // namespace

base::Expected<Incumbent> incumbent_of(const Session& session) {
  AKO_TRY(ledger::Standing standing, session.standing());
  Incumbent out;
  if (!standing.incumbent) {
    // A waiver may have let the loop start without a baseline on record.
    if (standing.baseline_event) {
      AKO_TRY(out.baseline, fastest_baseline(session));
    } else if (!session.contract().baselines.empty()) {
      out.baseline = session.contract().baselines.front().name;
    } else {
      return fastest_baseline(session).map([](const std::string&) { return Incumbent{}; });
    }
    out.label = "baseline:" + out.baseline;
    return out;
  }
  out.iteration = standing.incumbent->number;
  out.label = fmt::format("iteration {}", out.iteration);
  AKO_TRY(out.sources,
          workspace::read_snapshot(session.workdir(), workspace::kept_name(out.iteration)));
  if (out.sources.snapshot.hash != standing.incumbent->snapshot)
    return base::fail(base::ErrorKind::stale, "the kept sources are not those on record",
                      {.where = "refs of " + out.label,
                       .found = out.sources.snapshot.hash.substr(0, 12),
                       .allowed = standing.incumbent->snapshot.substr(0, 12),
                       .next = "ako verify"});
  AKO_TRY(out.kernel, kernel_of(session, out.iteration));
  return out;
}

base::Expected<model::Sources> standing_sources(const Session& session,
                                                const Incumbent& incumbent) {
  const model::Lane lane = session.contract().kernel.lane;
  if (incumbent.kernel && incumbent.kernel->lane != lane)
    return workspace::read_snapshot(session.workdir(), lane_start_name(lane));
  if (incumbent.iteration > 0) return incumbent.sources;
  return workspace::read_snapshot(session.workdir(), workspace::kept_name(0));
}

base::Expected<BuildOutcome> build_incumbent_side(Builder& builder, const Incumbent& incumbent) {
  if (incumbent.iteration == 0) return builder.baseline(incumbent.baseline);
  if (incumbent.kernel)
    return builder.from_kernel(incumbent.sources, lanes::Role::incumbent, *incumbent.kernel);
  return builder.from_sources(incumbent.sources, lanes::Role::incumbent);
}

base::Expected<Built> build_incumbent(Builder& builder, const Incumbent& incumbent) {
  return must_build(build_incumbent_side(builder, incumbent));
}

} // namespace ako::loop
