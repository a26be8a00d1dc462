#include "loop/try.hpp"

#include "base/log.hpp"
#include "base/time.hpp"
#include "executors/runner.hpp"
#include "loop/environment.hpp"
#include "loop/interrupt.hpp"
#include "loop/profile.hpp"
#include "loop/reading.hpp"
#include "model/nearest.hpp"
#include "workspace/commit.hpp"
#include "workspace/git.hpp"
#include "workspace/revert.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::loop {
namespace {

std::string kept_name(std::int64_t number) { return fmt::format("iter-{}", number); }

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
    AKO_TRY_STATUS(pass_gates());
    const std::int64_t started = base::monotonic_ns();
    if (base::Status built = build(); !built) return ended_early(std::move(built).error());
    if (m_built) AKO_TRY_STATUS(evaluate());
    if (m_verdict.outcome.kind == model::OutcomeKind::interrupted) return record_interruption();
    m_out.step = decide(m_verdict, m_request.flag_risk);
    if (m_built && m_out.step.decision == model::Decision::keep)
      AKO_TRY_STATUS(measure_against_baseline());
    m_iteration.seconds = static_cast<double>(base::monotonic_ns() - started) / 1e9;
    AKO_TRY_STATUS(record());
    AKO_TRY_STATUS(stall_if_due());
    AKO_TRY_STATUS(settle_files());
    return std::move(m_out);
  }

private:
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
    for (const auto& gate : closed) {
      m_iteration.waived.push_back(to_string(gate.gate));
      AKO_TRY_STATUS(append(
          ledger::Waiver{to_string(gate.gate), *m_request.waive, "try", m_request.waived_by}));
    }
    m_out.number = m_facts.standing.iterations + 1;
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
    else m_iteration.versus_baseline = report.verdict;
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
            workspace::keep_snapshot(m_session.workdir(), m_sources, kept_name(m_out.number)));
    const std::string tree = m_iteration.snapshot.git_tree;
    m_iteration.snapshot = m_sources.snapshot;
    m_iteration.snapshot.git_tree = tree;
    m_iteration.number = m_out.number;
    m_iteration.hypothesis = m_request.hypothesis;
    m_iteration.prediction = m_request.prediction;
    m_iteration.predicted_gain = m_request.predicted_gain;
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

  /// The difference to the incumbent as git shows it, the judge's lines, what was loaded.
  std::vector<ledger::Attachment> attachments() {
    std::vector<ledger::Attachment> out;
    workspace::Git git(m_session.workdir().task());
    auto prefix = m_session.workdir().ref_prefix();
    if (prefix) {
      const std::string old_ref = *prefix + kept_name(m_incumbent.iteration);
      const std::string new_ref = *prefix + kept_name(m_out.number);
      // One line of counts, an empty one, the patch; nothing where nothing changed.
      if (auto diff = git.run(
              {"diff", "--no-color", "--no-ext-diff", "--shortstat", "-p", old_ref, new_ref})) {
        const std::size_t end = diff->find("\n\n");
        m_iteration.change = diff->substr(0, end);
        out.push_back({"diff", end == std::string::npos ? "" : diff->substr(end + 2)});
      }
    }
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
    AKO_TRY(stall.incumbent_again, measure_incumbent_again());
    look_at_incumbent(stall);
    AKO_TRY_STATUS(append(stall));
    m_out.stall = std::move(stall);
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
      AKO_TRY(model::Sources back, incumbent_sources());
      AKO_TRY(workspace::Reverted reverted,
              workspace::restore_sources(m_session.workdir(), m_session.contract(), back,
                                         kept_name(m_out.number), &m_sources));
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

  base::Expected<model::Sources> incumbent_sources() {
    if (m_incumbent.iteration > 0) return m_incumbent.sources;
    return workspace::read_snapshot(m_session.workdir(), kept_name(m_incumbent.iteration));
  }

  const Session& m_session;
  const TryRequest& m_request;
  const TextWriter& m_write_texts;
  Target m_target;
  Builder m_builder;
  Facts m_facts;
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
  AKO_TRY(out.sources, workspace::read_snapshot(session.workdir(), kept_name(out.iteration)));
  if (out.sources.snapshot.hash != standing.incumbent->snapshot)
    return base::fail(base::ErrorKind::stale, "the kept sources are not those on record",
                      {.where = "refs of " + out.label,
                       .found = out.sources.snapshot.hash.substr(0, 12),
                       .allowed = standing.incumbent->snapshot.substr(0, 12),
                       .next = "ako verify"});
  return out;
}

base::Expected<BuildOutcome> build_incumbent_side(Builder& builder, const Incumbent& incumbent) {
  if (incumbent.iteration == 0) return builder.baseline(incumbent.baseline);
  return builder.from_sources(incumbent.sources, lanes::Role::incumbent);
}

base::Expected<Built> build_incumbent(Builder& builder, const Incumbent& incumbent) {
  return must_build(build_incumbent_side(builder, incumbent));
}

} // namespace ako::loop
