#include "base/time.hpp"
#include "evaluation/correctness.hpp"
#include "evaluation/failures.hpp"
#include "evaluation/rounds.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::evaluation {
namespace {

/// Inputs and outputs of one set beyond which only one block of a placement is graded.
constexpr std::int64_t k_large_bytes = 32ll << 20;
constexpr int k_lone_placements = 2; ///< in which single calls are looked at
constexpr int k_planning_sets = 2;   ///< one to call before, one to time

/// Importing what an interpreter needs starts threads of its own.
int threads_at_load(const client::LoadReport& loaded) {
  return loaded.sandbox.guest.empty() ? loaded.threads_before : loaded.threads_after;
}

} // namespace

Rounds::Rounds(Stage& stage, const Request& request, const stats::Plan& plan, std::uint64_t seed,
               Round round, int scrutiny)
    : m_stage(stage), m_request(request), m_plan(plan), m_coins(seed), m_watch(stage),
      m_round(round), m_scrutiny(scrutiny) {
  for (const auto& shape : request.shapes) m_series.shapes.push_back({shape.tag, shape.weight});
  // The clock is a probe here, not a reading: its own noise is about 3 %.
  if (on_host()) m_policy.most_clock_step = 0.06;
  m_out.blocks.resize(request.shapes.size());
  m_out.floors_ns.resize(request.shapes.size());
  m_scales.resize(request.shapes.size());
  m_graded.resize(request.shapes.size());
  m_called.resize(request.shapes.size());
  m_claims.resize(request.shapes.size(), Claims(request.contract->limits.threads));
  for (Side side : {Side::candidate, Side::incumbent})
    if (auto loaded = stage.load(side)) m_threads[side] = threads_at_load(*loaded);
}

base::Expected<Measured> Rounds::run() {
  for (m_placement = 0; m_placement < m_plan.most_placements; ++m_placement) {
    stats::Placement placement;
    for (m_index = 0; m_index < m_request.shapes.size(); ++m_index) {
      AKO_TRY(std::vector<stats::Pair> pairs, run_shape());
      if (m_out.ended) return std::move(m_out);
      placement.pairs.push_back(std::move(pairs));
    }
    m_series.placements.push_back(std::move(placement));
    if (m_placement + 1 < m_plan.first_look) continue;
    AKO_TRY(m_out.decision, stats::look(m_series, m_plan));
    if (m_out.decision.state != stats::State::go_on) break;
  }
  AKO_TRY_STATUS(check_floors());
  AKO_TRY_STATUS(check_claims());
  if (m_out.decision.state == stats::State::improved) AKO_TRY_STATUS(audit());
  if (m_out.decision.state == stats::State::improved) AKO_TRY_STATUS(confirm());
  return std::move(m_out);
}

judge::Place Rounds::place() const {
  judge::Place out;
  out.shape = shape().tag;
  out.placement = m_placement;
  out.seed = m_content.seed;
  out.epoch = m_content.epoch;
  out.phase = m_round == Round::first ? "timed" : "second_opinion";
  out.call = m_out.calls;
  return out;
}

void Rounds::end(const client::WorkerFailure& failure, Side side) {
  m_out.ended = outcome_of(failure, side, shape().tag);
}

base::Status Rounds::open(int sets) {
  AKO_TRY_STATUS(m_stage.open(shape(), sets, m_coins.draw()));
  m_content = {inputs::Recipe::plain, m_coins.draw(), 0};
  for (auto& taken : m_taken) taken.clear();
  AKO_TRY_STATUS(m_stage.fill(m_content));
  for (Side side : {Side::candidate, Side::incumbent})
    if (auto ready = make_ready(m_stage, side); !ready) {
      end(ready.error(), side);
      return {};
    }
  return {};
}

base::Status Rounds::renew_content() {
  ++m_content.epoch;
  return m_stage.fill(m_content);
}

bool Rounds::stopped() {
  if (m_out.ended || !m_request.stop || !m_request.stop()) return m_out.ended.has_value();
  m_out.ended = model::Outcome{
      model::OutcomeKind::interrupted, model::Fault::none, "stopped while measuring", {}};
  return true;
}

base::Expected<std::vector<stats::Pair>> Rounds::run_shape() {
  std::vector<stats::Pair> pairs;
  if (m_placement == 0) AKO_TRY_STATUS(plan_shape());
  if (m_out.ended) return pairs;
  // Buffers in which a single call was timed, to plan by, are as good as new ones: every pair
  // brings new content, and the next placement other buffers.
  const bool there = m_placement == 0 && on_host() && blocks().sets() == k_planning_sets;
  if (!there) AKO_TRY_STATUS(open(blocks().sets()));
  Grader grader(m_stage, m_request, shape(), m_scales[m_index]);
  m_large = fresh_bytes(*m_request.contract, shape()) > k_large_bytes;
  m_lot = m_coins.below(blocks().pairs);
  for (m_pair = 0; m_pair < blocks().pairs && !stopped(); ++m_pair) {
    report_progress();
    AKO_TRY(stats::Pair pair, run_pair_until_quiet(grader));
    pairs.push_back(pair);
  }
  if (!m_out.ended && m_placement < k_lone_placements) AKO_TRY_STATUS(look_at_lone_calls());
  return pairs;
}

base::Status Rounds::look_at_lone_calls() {
  const auto timed = blocks().timed();
  if (has_inouts(shape())) AKO_TRY_STATUS(m_stage.fill(m_content));
  const int chosen = m_coins.below(static_cast<int>(timed.size()));
  for (int called : {blocks().warmup().front(), timed[static_cast<std::size_t>(chosen)]}) {
    AKO_TRY_STATUS(m_stage.poison(inputs::Sentinel::first, timed));
    auto call = m_stage.call(Side::candidate, called);
    if (!call) {
      end(call.error(), Side::candidate);
      return {};
    }
    std::vector<int> others;
    for (int set : timed)
      if (set != called) others.push_back(set);
    if (others.empty()) continue;
    AKO_TRY(client::CheckReport checked, m_stage.check(others));
    AKO_TRY_STATUS(take(Side::candidate, merged_evidence(checked, *m_request.contract, shape(),
                                                         others, called, place())));
    if (m_out.ended) return {};
  }
  return {};
}

void Rounds::report_progress() const {
  if (!m_request.progress) return;
  const double shapes = static_cast<double>(m_request.shapes.size());
  const double part =
      (static_cast<double>(m_index) + static_cast<double>(m_pair) / m_out.blocks[m_index].pairs) /
      shapes;
  m_request.progress(m_round == Round::first ? "measuring" : "second opinion",
                     (m_placement + part) / m_plan.most_placements);
}

base::Status Rounds::plan_shape() {
  blocks() = plan_blocks(*m_request.contract, shape(), 1e6, m_stage.cache_bytes());
  AKO_TRY_STATUS(open(k_planning_sets));
  if (m_out.ended) return {};
  AKO_TRY(m_scales[m_index],
          scales_of(m_stage, m_request, shape(), inputs::Recipe::plain, m_coins.draw()));
  if (!m_scales[m_index].empty()) AKO_TRY_STATUS(m_stage.fill(m_content));
  double slowest = 0;
  client::SampleJob job;
  job.sets = {0};
  job.warmup_sets = {1};
  job.cache = m_request.contract->accept.cache;
  job.warm_tensors = blocks().warm_tensors;
  job.clock = m_request.contract->accept.clock;
  for (Side side : {Side::incumbent, Side::candidate}) {
    if (has_inouts(shape())) AKO_TRY_STATUS(m_stage.fill(m_content));
    auto report = m_stage.sample(side, job);
    if (!report) {
      end(report.error(), side);
      return {};
    }
    slowest = std::max(slowest, report->ns_per_call());
  }
  blocks() = plan_blocks(*m_request.contract, shape(), slowest, m_stage.cache_bytes());
  if (!on_host()) m_plan.tick_ns = std::max(m_plan.tick_ns, tick_ns_of_block(blocks().timed_sets));
  set_floor();
  return {};
}

void Rounds::set_floor() {
  judge::Work work;
  const bool cold = m_request.contract->accept.cache == model::CacheState::cold;
  work.cold_bytes = cold ? shape().bytes : 0;
  work.all_bytes = shape().bytes;
  work.flops = shape().flops;
  m_out.floors_ns[m_index] = judge::floor_ns(work, m_request.ceilings);
}

base::Expected<stats::Pair> Rounds::run_pair_until_quiet(Grader& grader) {
  std::vector<stats::BlockWatch> attempts;
  for (;;) {
    AKO_TRY_STATUS(m_watch.begin());
    AKO_TRY(PairRun ran, run_pair(grader));
    if (m_out.ended) return ran.pair;
    AKO_TRY(Watch::Seen seen, m_watch.end());
    attempts.push_back(seen.watch);
    m_out.samples.blocks.push_back(seen.state);
    ++m_out.blocks_run;
    const bool disturbed = !stats::disturbance(seen.watch, m_policy).empty();
    m_out.blocks_disturbed += disturbed;
    auto judged = stats::judge_block(attempts, m_out.blocks_run, m_out.blocks_disturbed, m_policy);
    std::uint32_t flags = (disturbed ? model::sample_flag::disturbed : 0) |
                          (attempts.size() > 1 ? model::sample_flag::repeated : 0);
    for (auto& row : ran.rows) {
      row.flags |= flags;
      m_out.samples.rows.push_back(row);
    }
    if (disturbed) m_out.disturbed_reason = judged.reason;
    if (judged.action == stats::BlockAction::repeat) {
      // What disturbed it may be over in a moment: 0.1, 0.4, 1.6 s.
      const int doublings = 2 * (static_cast<int>(attempts.size()) - 1);
      m_stage.settle(std::int64_t{100'000'000} << std::min(doublings, 4));
      continue;
    }
    ran.pair.condition = disturbed ? stats::Condition::disturbed : stats::Condition::quiet;
    ran.pair.old_clock = ran.pair.new_clock = seen.watch.clock_ratio;
    if (!disturbed) m_claims[m_index].add(ran.claims);
    if (judged.action == stats::BlockAction::invalid_measurement)
      m_out.ended = model::Outcome{
          model::OutcomeKind::invalid_measurement, model::Fault::machine, judged.reason, {}};
    return ran.pair;
  }
}

base::Expected<PairRun> Rounds::run_pair(Grader& grader) {
  PairRun out;
  AKO_TRY_STATUS(renew_content());
  grader.renew(m_content);
  const bool old_first = m_coins.flip();
  out.pair.order = old_first ? stats::Order::old_first : stats::Order::new_first;
  for (int turn = 0; turn < 2 && !m_out.ended; ++turn) {
    const Side side = (turn == 0) == old_first ? Side::incumbent : Side::candidate;
    AKO_TRY(model::Sample row, run_block(side, turn, grader));
    out.rows[turn] = row;
    m_claims[m_index].note(side, m_last, out.claims);
    (side == Side::incumbent ? out.pair.old_ns : out.pair.new_ns) = row.device_ns;
  }
  return out;
}

base::Status Rounds::check_floors() {
  for (std::size_t s = 0; s < m_out.decision.shapes.size() && !m_out.ended; ++s) {
    const auto& result = m_out.decision.shapes[s];
    m_index = s;
    std::vector<model::Evidence> evidence;
    if (auto found = judge::below_floor(place(), result.old_ns, m_out.floors_ns[s],
                                        judge::Measured::baseline))
      evidence.push_back(*found);
    else if (auto mine = judge::below_floor(place(), result.new_ns, m_out.floors_ns[s],
                                            judge::Measured::candidate))
      evidence.push_back(*mine);
    if (!evidence.empty()) m_out.ended = judge::decide(evidence);
  }
  return {};
}

base::Expected<Measured> measure_pairs(Stage& stage, const Request& request,
                                       const stats::Plan& plan, std::uint64_t seed, Round round,
                                       int scrutiny) {
  AKO_TRY_STATUS(stats::check(plan));
  return Rounds(stage, request, plan, seed, round, scrutiny).run();
}

stats::Plan stats_plan(const model::Contract& contract, Round round) {
  stats::Plan plan;
  plan.min_gain = contract.accept.min_gain;
  plan.max_regression = contract.accept.max_regression;
  plan.alpha = contract.accept.alpha;
  plan.most_placements = contract.limits.placements;
  plan.pairs_per_placement = contract.limits.pairs;
  // Cold calls of some microseconds differ by up to 8 % from one placement to the next on a shared
  // host, long ones by 3 %.
  if (contract.kernel.lane == model::Lane::cpu) plan.placement_spread = 0.08;
  // What already stands at alpha is asked again, of data by which nothing was chosen: a false win
  // must pass both rounds, so one in 140 here leaves a 140th of alpha. As loose as the stated 99 %
  // interval, which must lie above the minimum gain as well. Fewer placements turned true wins away
  // and no more false ones (bench/results/stats).
  if (round == Round::second_opinion) plan.alpha = std::max(plan.alpha, 0.007);
  return plan;
}

} // namespace ako::evaluation
