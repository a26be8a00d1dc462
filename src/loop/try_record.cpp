#include "loop/try_run.hpp"

#include "base/time.hpp"
#include "executors/runner.hpp"
#include "loop/deciding_files.hpp"
#include "loop/lane.hpp"
#include "loop/profile.hpp"
#include "model/contract_toml.hpp"
#include "model/nearest.hpp"
#include "workspace/commit.hpp"
#include "workspace/commit_paths.hpp"
#include "workspace/git.hpp"
#include "workspace/revert.hpp"
#include "workspace/snapshot.hpp"

#include <fmt/format.h>

namespace ako::loop {

base::Status Try::record() {
  AKO_TRY(
      m_sources.snapshot.git_tree,
      workspace::keep_snapshot(m_session.workdir(), m_sources, workspace::kept_name(m_out.number)));
  m_iteration.snapshot = m_sources.snapshot;
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

base::Status Try::record_against_baseline() {
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

std::vector<ledger::Attachment> Try::attachments() {
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
  for (auto& page : m_pages) out.push_back(std::move(page));
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

std::vector<std::string> Try::recipe_names() const {
  std::vector<std::string> out;
  for (inputs::Recipe recipe : m_recipes) out.emplace_back(inputs::to_string(recipe));
  return out;
}

base::Status Try::settle_files() {
  bool goes_back =
      m_out.step.decision == model::Decision::revert && makes_way(m_verdict.outcome.kind, m_built);
  if (goes_back && m_incumbent.iteration == 0 && !m_facts.standing.baseline_event) {
    // A waiver let the loop start without a baseline: nothing was kept that could come back.
    m_out.warnings.push_back("solution/ is left as it is: no baseline is on record to go back "
                             "to");
    goes_back = false;
  }
  model::Sources stays = m_sources;
  bool edited = false;
  if (goes_back) {
    AKO_TRY(stays, standing_sources(m_session, m_incumbent));
    AKO_TRY(workspace::Reverted reverted,
            workspace::restore_sources(m_session.workdir(), m_session.contract(), stays,
                                       workspace::kept_name(m_out.number), &m_sources));
    m_out.restored = reverted.restored;
    m_out.kept_ref = reverted.kept_ref;
    edited = reverted.edited;
  }
  if (m_write_texts) AKO_TRY_STATUS(m_write_texts(m_session));
  AKO_TRY_STATUS(commit_files(stays));
  // Looked at last: an edit that the commit had to pass over is told of as well.
  edited = edited || (!goes_back && !workspace::still_holds(m_session.workdir(),
                                                            m_session.contract(), m_sources));
  return edited ? tell_of_edit(goes_back) : base::Status{};
}

base::Status Try::commit_files(const model::Sources& candidate) {
  workspace::IterationCommit commit;
  commit.number = static_cast<int>(m_out.number);
  commit.hypothesis = m_request.hypothesis;
  commit.body = fmt::format("{}: {}", model::to_string(m_out.step.decision), m_out.step.reason);
  commit.ledger_head = m_head;
  commit.candidate = {&m_session.contract(), &candidate};
  commit.left_out = edited_beside();
  if (!commit.left_out.empty())
    m_out.warnings.push_back(fmt::format(
        "edited while iteration {} was measured: {}; it was judged by what stood there before, and "
        "its commit leaves the edit out: look at it with `git diff HEAD`, then: ako check",
        m_out.number, model::join(commit.left_out)));
  auto id = workspace::commit_iteration(m_session.workdir(), commit);
  if (!id) {
    m_out.warnings.push_back("no commit was made: " + id.error().text());
    return {};
  }
  m_out.commit = *id;
  return append(ledger::Committed{m_out.number, *id, commit.ledger_head});
}

base::Status Try::tell_of_edit(bool was_to_go_back) {
  AKO_TRY(const std::string prefix, m_session.workdir().ref_prefix());
  AKO_TRY(const workspace::GitPlace place, m_session.workdir().git());
  m_out.kept_ref = prefix + workspace::kept_name(m_out.number);
  std::string top; // quoted for the shell
  for (const char c : place.top.string()) top += c == '\'' ? "'\\''" : std::string(1, c);
  m_out.warnings.push_back(fmt::format(
      "solution/ was edited while iteration {} was {}: the edit was not judged and is left as it "
      "is{}. What was judged is kept as {}; to have it back in place of the edit, in {}: git -C "
      "'{}' archive {} | tar -xm",
      m_out.number, m_built ? "measured" : "built",
      was_to_go_back ? ", so the incumbent was not put back; the commit holds the incumbent"
                     : "; the commit holds what was judged",
      m_out.kept_ref, m_session.workdir().task().string(), top, m_out.kept_ref));
  return {};
}

std::vector<std::string> Try::edited_beside() const {
  std::vector<ledger::FileSeen> seen;
  const auto saw = [&](const Built& built, bool sources) {
    for (auto& file : files_of("", built))
      if (sources || built.sources.find(file.path) == nullptr) seen.push_back(std::move(file));
  };
  if (m_built) {
    saw(m_sides.candidate, false); // its own files are looked at apart
    saw(m_sides.incumbent, m_incumbent.iteration == 0);
    if (m_sides.reference) saw(*m_sides.reference, true);
    seen.insert(seen.end(), m_fills.begin(), m_fills.end());
  }
  std::vector<std::string> out = changed_paths(m_session.workdir(), seen);
  const auto contract = model::load_contract(m_session.workdir().task());
  if (!contract || contract->hash != m_session.contract().hash) out.emplace_back("task.toml");
  return out;
}

base::Status Try::stall_if_due() {
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

base::Status Try::settle_stall() {
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

void Try::look_at_incumbent(ledger::Stall& stall) {
  ProfileRequest request;
  request.side = "incumbent";
  const std::int64_t started = base::monotonic_ns();
  auto looked = profile(m_session, request, executors::local_runner());
  m_out.further_device_ns += base::monotonic_ns() - started;
  if (!looked) {
    m_out.warnings.push_back("the incumbent was not profiled: " + looked.error().text());
    return;
  }
  stall.lessons.push_back("the incumbent's profile: " + profile_summary(*looked));
  m_out.lessons = stall.lessons;
  for (const std::string& warning : looked->warnings) m_out.warnings.push_back(warning);
}

base::Expected<std::vector<ledger::ShapeFigure>> Try::measure_incumbent_again() {
  Sides sides{m_sides.incumbent, m_sides.incumbent, m_sides.reference, m_incumbent.label};
  auto setup = set_up(m_session.workdir(), m_session.contract(), m_session.shapes(), sides,
                      {inputs::Recipe::plain}, Scope::whole, m_target);
  setup.request.second_opinion = false;
  AKO_TRY(evaluation::Report report, evaluation::evaluate(setup.request, setup.make_stage));
  m_out.further_device_ns += report.phases.total_ns;
  const model::Outcome& outcome = report.verdict.outcome;
  if (outcome.kind == model::OutcomeKind::interrupted)
    return base::fail(base::ErrorKind::interrupted,
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

} // namespace ako::loop
