#include "evaluation/evaluate.hpp"

#include "base/time.hpp"
#include "evaluation/correctness.hpp"
#include "evaluation/failures.hpp"
#include "evaluation/measuring.hpp"
#include "evaluation/replay.hpp"
#include "judge/verdict.hpp"
#include "stats/summary.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::evaluation {
namespace {

using model::Side;

judge::TimeDecision time_decision(stats::State state) {
  switch (state) {
  case stats::State::improved: return judge::TimeDecision::faster;
  case stats::State::equivalent: return judge::TimeDecision::equivalent;
  case stats::State::regressed: return judge::TimeDecision::slower;
  case stats::State::invalid: return judge::TimeDecision::disturbed;
  case stats::State::go_on:
  case stats::State::undecided: return judge::TimeDecision::undecided;
  }
  return judge::TimeDecision::undecided;
}

model::Verdict numbers_of(const Measured& measured, const Request& request) {
  model::Verdict out;
  const stats::Decision& decision = measured.decision;
  out.gain = decision.gain.value;
  out.interval = {decision.gain.low, decision.gain.high};
  out.alpha_spent = decision.alpha_spent;
  out.placements = decision.placements;
  out.pairs = decision.pairs;
  for (std::size_t s = 0; s < decision.shapes.size(); ++s) {
    const auto& shape = decision.shapes[s];
    out.shapes.push_back({shape.tag,
                          shape.weight,
                          shape.old_ns,
                          shape.new_ns,
                          shape.gain.value,
                          {shape.gain.low, shape.gain.high},
                          measured.floors_ns[s],
                          shape.regression != stats::Regression::beyond});
  }
  out.against = request.against;
  // On the cpu lane there is one clock, the host's.
  out.clock = request.contract->kernel.lane == model::Lane::cpu
                  ? "host"
                  : model::to_string(request.contract->accept.clock);
  out.cache = measured.cache_state;
  out.statistic = "sequential paired test over placements of shared buffers";
  if (decision.more) out.more_needed = decision.more->text;
  return out;
}

base::Json loaded_json(const client::LoadReport& report) {
  base::Json out = {{"hash", report.hash},
                    {"libraries", report.libraries},
                    {"load_ns", report.load_ns},
                    {"sandbox", report.sandbox.label},
                    {"interposed", report.interposed},
                    {"measure", report.measure}};
  if (!report.sandbox.device.empty()) out["device"] = report.sandbox.device;
  if (report.sandbox.guest.empty()) return out;
  out["interpreter"] = report.sandbox.guest;
  out["modules"] = report.guest;
  return out;
}

/// One whole round: fresh processes, own seed.
class RoundRun {
public:
  RoundRun(const Request& request, Stage& stage, Round round)
      : m_request(request), m_stage(stage), m_round(round) {}

  /// Fills report.verdict-like numbers; `ended` when it did not come to statistics.
  struct Result {
    std::optional<model::Outcome> ended;
    Correctness correctness;
    Measured measured;
    base::Json loaded = base::Json::object();
    base::Json replay = base::Json::object(); ///< empty = none was asked for
    base::Json counted = base::Json::array(); ///< hardware counters; empty = none were read
    std::uint64_t seed = 0;
    std::vector<model::Evidence> evidence;
    Phases phases;
  };

  base::Expected<Result> run() {
    const std::int64_t started = base::monotonic_ns();
    if (m_request.progress) m_request.progress("starting", 0);
    if (!load()) return std::move(m_out);
    // Drawn only now: nothing that was loaded can have known it.
    const std::size_t number = m_round == Round::first ? 0 : 1;
    m_out.seed = number < m_request.seeds.size() ? m_request.seeds[number] : draw_seed();
    m_out.phases.load_ns = base::monotonic_ns() - started;
    if (m_request.judged) AKO_TRY_STATUS(judge());
    if (m_out.ended) return std::move(m_out);
    const std::int64_t measuring = base::monotonic_ns();
    stats::Plan plan = stats_plan(*m_request.contract, m_round);
    if (m_round == Round::second_opinion) plan.candidates = std::max(1, m_request.tried);
    if (m_request.most_placements > 0)
      plan.most_placements =
          std::max(plan.first_look, std::min(plan.most_placements, m_request.most_placements));
    AKO_TRY(m_out.measured,
            measure_pairs(m_stage, m_request, plan, m_out.seed ^ 0x9e3779b97f4a7c15ull, m_round,
                          judge::scrutiny(m_out.evidence)));
    m_out.phases.measure_ns = base::monotonic_ns() - measuring;
    m_out.phases.inside_ns = m_out.measured.inside_ns;
    m_out.ended = m_out.measured.ended;
    append(m_out.measured.weak);
    if (!m_out.ended) AKO_TRY_STATUS(replay());
    note_compiled();
    return std::move(m_out);
  }

private:
  bool load() {
    for (auto [side, expected] : {std::pair{Side::candidate, &m_request.candidate_hash},
                                  std::pair{Side::incumbent, &m_request.incumbent_hash},
                                  std::pair{Side::reference, &m_request.reference_hash}}) {
      if (!m_stage.has(side)) continue;
      auto report = m_stage.load(side);
      if (!report) {
        m_out.ended = outcome_of(report.error(), side, "");
        return false;
      }
      m_out.loaded[model::to_string(side)] = loaded_json(*report);
      judge::LoadedState state;
      state.expected_hash = *expected;
      state.loaded_hash = report->hash;
      state.new_libraries = report->libraries;
      state.allowed_libraries = runtime_libraries();
      state.patched_symbols = report->interposed;
      state.library_calls_forbidden =
          m_request.contract->kernel.library_calls == model::Permission::forbidden;
      judge::Place place;
      place.phase = "load";
      if (side != Side::candidate) continue;
      append(judge::load_claims(place, state));
      if (auto changed = judge::process_state(place, report->changed)) append({*changed});
    }
    m_out.ended = judge::decide(m_out.evidence);
    return !m_out.ended;
  }

  base::Status judge() {
    const std::int64_t started = base::monotonic_ns();
    const bool second = m_round == Round::second_opinion;
    AKO_TRY(m_out.correctness,
            judge_candidate(m_stage, m_request, second ? m_request.hidden : m_request.edges,
                            m_out.seed, second ? "second_opinion" : "check"));
    m_out.phases.judge_ns = base::monotonic_ns() - started;
    m_out.ended = m_out.correctness.ended;
    append(m_out.correctness.weak);
    return {};
  }

  /// A win on a device is launched again by somebody else before it counts.
  base::Status replay() {
    const bool last = m_round == Round::second_opinion || !m_request.second_opinion;
    const bool win = m_out.measured.decision.state == stats::State::improved;
    if (!last || !win || m_request.contract->kernel.lane == model::Lane::cpu) return {};
    AKO_TRY(Replayed replayed, replay_candidate(m_stage, m_request, m_out.measured.blocks,
                                                m_out.seed ^ 0x5851f42d4c957f2dull));
    m_out.replay = {{"self_timed", replayed.self_timed}, {"shapes", replayed.shapes}};
    append(replayed.evidence);
    if (!replayed.self_timed.empty())
      append({{"self_timed",
               "self-timed, no replay stands behind it: " + replayed.self_timed,
               {{"why", replayed.self_timed}},
               false}});
    if (judge::decide(replayed.evidence)) m_out.ended = judge::decide(m_out.evidence);
    return {};
  }

  void note_compiled() {
    for (const Side side : {Side::candidate, Side::incumbent, Side::reference})
      if (auto compiled = m_stage.compiled(side); !compiled.empty())
        m_out.loaded[model::to_string(side)]["compiled"] = std::move(compiled);
    m_out.counted = m_stage.counted();
  }

  void append(const std::vector<model::Evidence>& evidence) {
    m_out.evidence.insert(m_out.evidence.end(), evidence.begin(), evidence.end());
  }

  const Request& m_request;
  Stage& m_stage;
  Round m_round;
  Result m_out;
};

judge::VerdictInput verdict_input(const RoundRun::Result& result, const Request& request) {
  judge::VerdictInput input;
  input.evidence = result.evidence;
  input.time = time_decision(result.measured.decision.state);
  input.numbers = numbers_of(result.measured, request);
  input.min_gain = request.contract->accept.min_gain;
  input.max_regression = request.contract->accept.max_regression;
  input.alpha = request.contract->accept.alpha;
  input.precision = result.correctness.precision;
  input.precision_rule = request.contract->kernel.precision;
  input.lower_precision_wanted = request.contract->tolerance.ratio_to_baseline.has_value();
  // A weak sign decides nothing, but a win beside it must be seen twice.
  input.second_opinion_required = request.second_opinion || judge::scrutiny(result.evidence) > 0;
  input.disturbed_reason = result.measured.disturbed_reason;
  return input;
}

model::Verdict ended_verdict(const RoundRun::Result& result, const Request& request) {
  model::Verdict out = numbers_of(result.measured, request);
  out.outcome = *result.ended;
  return out;
}

/// Each once.
void add_unproven(Report& report, const std::vector<std::string>& lines) {
  auto& all = report.correctness["unproven"];
  for (const auto& line : lines)
    if (std::find(all.begin(), all.end(), base::Json(line)) == all.end()) all.push_back(line);
}

/// The second opinion agrees when it too finds the candidate right and faster by the minimum gain.
base::Expected<bool> take_second_opinion(const Request& request, const StageFactory& make_stage,
                                         Report& report) {
  const std::int64_t started = base::monotonic_ns();
  AKO_TRY(std::unique_ptr<Stage> stage, make_stage());
  AKO_TRY(RoundRun::Result result, RoundRun(request, *stage, Round::second_opinion).run());
  report.phases.second_ns = base::monotonic_ns() - started;
  report.phases.inside_ns += result.phases.inside_ns;
  report.seed += fmt::format(" {:016x}", result.seed);
  for (auto& row : result.measured.samples.rows) report.samples.rows.push_back(row);
  for (auto& block : result.measured.samples.blocks) report.samples.blocks.push_back(block);
  report.correctness["second_opinion"] = result.correctness.lines;
  add_unproven(report, result.correctness.unproven);
  add_unproven(report, result.measured.unproven);
  if (request.hidden.empty())
    add_unproven(report, {"sizes that nobody knows: the axes leave none that is small enough"});
  if (!result.replay.empty()) report.machine["replay"] = result.replay;
  if (result.ended) {
    report.second = ended_verdict(result, request);
    return false;
  }
  judge::VerdictInput input = verdict_input(result, request);
  input.second_opinion_required = false;
  report.second = judge::conclude(input);
  return report.second->outcome.kind == model::OutcomeKind::improved;
}

/// The label goes with the win.
void note_self_timed(const model::Verdict& second, model::Verdict& verdict) {
  for (const auto& each : second.outcome.evidence)
    if (each.guard == "self_timed") verdict.outcome.evidence.push_back(each);
}

/// What the watch saw over all blocks: the evidence by which disturbances were told.
base::Json machine_record(const Measured& measured) {
  base::Json out = {{"blocks_run", measured.blocks_run},
                    {"blocks_disturbed", measured.blocks_disturbed}};
  const auto spread = [&](const char* name, double model::BlockState::*member) {
    std::vector<double> values;
    for (const auto& block : measured.samples.blocks) values.push_back(block.*member);
    if (values.empty()) return;
    out[name] = {{"p05", base::number_or_null(stats::quantile(values, 0.05))},
                 {"median", base::number_or_null(stats::median(values))},
                 {"p95", base::number_or_null(stats::quantile(values, 0.95))},
                 {"most", base::number_or_null(*std::max_element(values.begin(), values.end()))}};
  };
  spread("foreign_load", &model::BlockState::foreign_load);
  spread("clock_ratio", &model::BlockState::clock_ratio);
  return out;
}

void fill_record(const Request& request, const RoundRun::Result& first, Report& report) {
  report.samples = first.measured.samples;
  report.correctness = {{"cases", first.correctness.lines}, {"unproven", base::Json::array()}};
  add_unproven(report, request.unproven);
  add_unproven(report, first.correctness.unproven);
  add_unproven(report, first.measured.unproven);
  report.loaded = first.loaded;
  report.seed = fmt::format("{:016x}", first.seed);
  report.calls = first.measured.calls;
  report.cache_state = first.measured.cache_state;
  report.machine = machine_record(first.measured);
  if (!first.counted.empty()) report.machine["counted"] = first.counted;
  if (!first.replay.empty()) report.machine["replay"] = first.replay;
  report.phases = first.phases;
}

/// Nobody's call hung: all of them together are more than the contract grants.
model::Outcome over_time(double seconds) {
  model::Outcome out;
  out.kind = model::OutcomeKind::timeout;
  out.fault = model::Fault::task;
  out.reason = fmt::format("the evaluation was ended after {:g} s (limits.evaluation_seconds): ask "
                           "for fewer shapes or placements, or allow more",
                           seconds);
  return out;
}

} // namespace

base::Expected<Report> evaluate(const Request& given, const StageFactory& make_stage) {
  const std::int64_t started = base::monotonic_ns();
  // limits.evaluation_seconds is for all of it, the second opinion included.
  const double limit = given.contract->limits.evaluation_seconds;
  const auto deadline = base::Deadline::after_seconds(limit);
  bool over = false;
  Request request = given;
  request.stop = [&] {
    if (given.stop && given.stop()) return true;
    over = over || deadline.passed();
    return over;
  };
  Report report;
  AKO_TRY(std::unique_ptr<Stage> stage, make_stage());
  AKO_TRY(RoundRun::Result first, RoundRun(request, *stage, Round::first).run());
  stage.reset(); // the first round's processes are gone before the second's start
  fill_record(request, first, report);
  if (first.ended) {
    report.verdict = ended_verdict(first, request);
  } else {
    judge::VerdictInput input = verdict_input(first, request);
    const bool win = input.time == judge::TimeDecision::faster;
    if (win && input.second_opinion_required) {
      AKO_TRY(input.second_opinion_agrees, take_second_opinion(request, make_stage, report));
    }
    report.verdict = judge::conclude(input);
    report.verdict.confirmed = win && input.second_opinion_agrees;
    if (report.second) note_self_timed(*report.second, report.verdict);
    // A second opinion that found something decisive overrules the first; one that was stopped has
    // no opinion, and without it there is no decision.
    if (report.second && (judge::decide(report.second->outcome.evidence) ||
                          report.second->outcome.kind == model::OutcomeKind::interrupted))
      report.verdict.outcome = report.second->outcome;
  }
  if (over && report.verdict.outcome.kind == model::OutcomeKind::interrupted)
    report.verdict.outcome = over_time(limit);
  report.phases.total_ns = base::monotonic_ns() - started;
  return report;
}

} // namespace ako::evaluation
