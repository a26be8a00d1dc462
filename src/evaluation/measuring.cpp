#include "evaluation/measuring.hpp"

#include "base/time.hpp"
#include "evaluation/claims.hpp"
#include "evaluation/correctness.hpp"
#include "evaluation/failures.hpp"
#include "evaluation/watch.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <thread>

namespace ako::evaluation {
namespace {

using model::Side;

/// Two blocks that belong together, with what was seen around them.
struct PairRun {
  stats::Pair pair;
  model::Sample rows[2];
  judge::PairClaims claims;
};

/// Time that grading may take after one block; the first of a placement gets more.
constexpr std::int64_t k_grading_ns = 3'000'000, k_first_grading_ns = 20'000'000;
/// Inputs and outputs of one set beyond which only one block of a placement is graded.
constexpr std::int64_t k_large_bytes = 32ll << 20;
/// A buffer of which this share still looks like marks is graded whatever the lot says.
constexpr double k_doubtful_share = 0.25;
constexpr std::int64_t k_audit_ns = 1'000'000'000;
/// Calls at a shape before the one that is graded last, and the time that they may take, all shapes
/// together.
constexpr std::int64_t k_late_calls = 1000, k_late_ns = 1'000'000'000;
constexpr double k_device_tick_ns = 32; ///< of a device's timestamps
constexpr int k_lone_placements = 2;    ///< in which single calls are looked at

/// Importing what an interpreter needs starts threads of its own.
int threads_at_load(const client::LoadReport& loaded) {
  return loaded.sandbox.guest.empty() ? loaded.threads_before : loaded.threads_after;
}

/// Beside the calling thread; 0 in the contract = every core.
int pool_threads(const model::Contract& contract) {
  if (contract.kernel.lane != model::Lane::cpu) return 0;
  const int threads = contract.limits.threads;
  return threads > 0 ? threads - 1 : static_cast<int>(std::thread::hardware_concurrency());
}

class Rounds {
public:
  Rounds(Stage& stage, const Request& request, const stats::Plan& plan, std::uint64_t seed,
         Round round, int scrutiny)
      : m_stage(stage), m_request(request), m_plan(plan), m_coins(seed), m_watch(stage),
        m_round(round), m_scrutiny(scrutiny) {
    for (const auto& shape : request.shapes) m_series.shapes.push_back({shape.tag, shape.weight});
    // The clock is a probe here, not a reading: its own noise is about 3 %.
    if (request.contract->kernel.lane == model::Lane::cpu) m_policy.most_clock_step = 0.06;
    m_out.blocks.resize(request.shapes.size());
    m_out.floors_ns.resize(request.shapes.size());
    m_scales.resize(request.shapes.size());
    m_graded.resize(request.shapes.size());
    m_called.resize(request.shapes.size());
    m_claims.resize(request.shapes.size(), Claims(request.contract->limits.threads));
    for (Side side : {Side::candidate, Side::incumbent})
      if (auto loaded = stage.load(side)) m_threads[side] = threads_at_load(*loaded);
  }

  base::Expected<Measured> run() {
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
    check_claims();
    if (m_out.decision.state == stats::State::improved) AKO_TRY_STATUS(audit());
    return std::move(m_out);
  }

private:
  const model::ResolvedShape& shape() const { return m_request.shapes[m_index]; }
  BlockPlan& blocks() { return m_out.blocks[m_index]; }

  judge::Place place() const {
    judge::Place out;
    out.shape = shape().tag;
    out.placement = m_placement;
    out.seed = m_content.seed;
    out.epoch = m_content.epoch;
    out.phase = m_round == Round::first ? "timed" : "second_opinion";
    out.call = m_out.calls;
    return out;
  }

  void end(const client::WorkerFailure& failure, Side side) {
    m_out.ended = outcome_of(failure, side, shape().tag);
  }

  /// New buffers, new content, both sides ready.
  base::Status open(int sets) {
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

  base::Expected<std::vector<stats::Pair>> run_shape() {
    std::vector<stats::Pair> pairs;
    if (m_placement == 0) AKO_TRY_STATUS(plan_shape());
    if (m_out.ended) return pairs;
    AKO_TRY_STATUS(open(blocks().sets()));
    Grader grader(m_stage, m_request, shape(), m_scales[m_index]);
    m_large = fresh_bytes(*m_request.contract, shape()) > k_large_bytes;
    m_lot = m_coins.below(blocks().pairs);
    for (m_pair = 0; m_pair < blocks().pairs && !m_out.ended; ++m_pair) {
      if (m_request.stop && m_request.stop()) {
        m_out.ended = model::Outcome{
            model::OutcomeKind::interrupted, model::Fault::none, "stopped while measuring", {}};
        break;
      }
      report_progress();
      AKO_TRY(stats::Pair pair, run_pair_until_quiet(grader));
      pairs.push_back(pair);
    }
    if (!m_out.ended && m_placement < k_lone_placements) AKO_TRY_STATUS(look_at_lone_calls());
    return pairs;
  }

  /// Calls that come alone, first on the untimed set, then on a timed one: each must write its own
  /// outputs and no others.
  base::Status look_at_lone_calls() {
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

  void report_progress() const {
    if (!m_request.progress) return;
    const double shapes = static_cast<double>(m_request.shapes.size());
    const double part =
        (static_cast<double>(m_index) + static_cast<double>(m_pair) / m_out.blocks[m_index].pairs) /
        shapes;
    m_request.progress(m_round == Round::first ? "measuring" : "second opinion",
                       (m_placement + part) / m_plan.most_placements);
  }

  /// The first timing decides how blocks are cut; it is not a sample.
  base::Status plan_shape() {
    blocks() = plan_blocks(*m_request.contract, shape(), 1e6, m_stage.cache_bytes());
    AKO_TRY_STATUS(open(2));
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
    if (m_request.contract->kernel.lane != model::Lane::cpu)
      m_plan.tick_ns = std::max(m_plan.tick_ns, k_device_tick_ns / blocks().timed_sets);
    judge::Work work;
    const bool cold = m_request.contract->accept.cache == model::CacheState::cold;
    work.cold_bytes = cold ? shape().bytes : 0;
    work.all_bytes = shape().bytes;
    work.flops = shape().flops;
    m_out.floors_ns[m_index] = judge::floor_ns(work, m_request.ceilings);
    return {};
  }

  base::Expected<stats::Pair> run_pair_until_quiet(Grader& grader) {
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
      auto judged =
          stats::judge_block(attempts, m_out.blocks_run, m_out.blocks_disturbed, m_policy);
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

  base::Expected<PairRun> run_pair(Grader& grader) {
    PairRun out;
    ++m_content.epoch;
    AKO_TRY_STATUS(m_stage.fill(m_content));
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

  client::SampleJob timed_job() {
    client::SampleJob job;
    job.sets = blocks().timed();
    job.warmup_sets = blocks().warmup();
    job.cache = blocks().cache;
    job.eviction = blocks().eviction;
    job.warm_tensors = blocks().warm_tensors;
    job.clock = m_request.contract->accept.clock;
    return job;
  }

  /// One block of one side: marks laid, timed, marks looked at, one set graded by lot.
  base::Expected<model::Sample> run_block(Side side, int turn, Grader& grader) {
    model::Sample row;
    row.shape = static_cast<int>(m_index);
    row.placement = m_placement;
    row.pair = m_pair;
    row.side = side;
    row.order = turn;
    row.call_ns = std::nan("");
    if (m_round == Round::second_opinion) row.flags |= model::sample_flag::second_opinion;
    if (turn == 1 && has_inouts(shape())) {
      AKO_TRY_STATUS(m_stage.fill(m_content));
      grader.renew(m_content); // with the inouts its answers were overwritten
    }
    const auto timed = blocks().timed();
    // Both sentinels take turns: what happens to equal the one is seen by the other.
    const auto sentinel = m_pair % 2 == 0 ? inputs::Sentinel::first : inputs::Sentinel::second;
    AKO_TRY_STATUS(m_stage.poison(sentinel, timed));
    auto report = m_stage.sample(side, timed_job());
    if (!report) {
      end(report.error(), side);
      return row;
    }
    m_watch.add(*report);
    row.calls = report->calls;
    row.device_ns = report->ns_per_call();
    m_out.cache_state = report->cache_state;
    m_out.inside_ns += report->parent_wall_ns;
    if (side == Side::candidate) {
      m_out.calls += report->calls;
      m_called[m_index] += report->calls + report->warmup_calls;
    }
    AKO_TRY(client::CheckReport checked, m_stage.check(timed));
    AKO_TRY_STATUS(look_at(side, *report, checked));
    m_last = std::move(*report);
    // The reference must not run on a content before the candidate has: what the incumbent wrote
    // is graded where it ran second.
    if (!m_out.ended && m_request.judged && (side == Side::candidate || turn == 1))
      AKO_TRY_STATUS(grade(side, checked, row, grader));
    return row;
  }

  /// Timed outputs in full, chosen by lot after the block ran, as many as the time allows: at least
  /// one in the first block of every placement, otherwise one in so many blocks. Large sets take
  /// longer to grade than a block to run: one block of each placement is drawn for it.
  base::Status grade(Side side, const client::CheckReport& checked, model::Sample& row,
                     Grader& grader) {
    auto order = blocks().timed();
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(m_coins.below(static_cast<int>(i)))]);
    bool must = m_audit_until > 0 || m_pair == m_lot;
    if (!m_large) must = must || m_pair == 0 || m_coins.below(blocks().pairs) == 0;
    else if (side == Side::incumbent && m_placement > 0) must = false;
    const auto doubtful = std::find(order.begin(), order.end(), doubtful_set(checked));
    if (doubtful != order.end()) {
      std::swap(*doubtful, order.front());
      must = true;
    }
    if (side == Side::incumbent) order.resize(1);
    const std::int64_t budget = m_pair == 0 ? k_first_grading_ns : k_grading_ns;
    const std::int64_t started = base::monotonic_ns();
    for (int set : order) {
      const std::int64_t spent = base::monotonic_ns() - started;
      if (m_audit_until > 0 ? !must && audit_is_over() : !must && spent + m_grading_ns > budget)
        break;
      if (side == Side::incumbent && !must) break;
      must = false;
      row.flags |= model::sample_flag::graded;
      AKO_TRY_STATUS(grade_set(side, set, grader));
      if (m_out.ended) break;
      m_grading_ns = base::monotonic_ns() - started - spent;
    }
    return {};
  }

  /// The set whose outputs look most like marks where marks prove nothing; -1 = none does.
  int doubtful_set(const client::CheckReport& checked) const {
    int out = -1;
    double most = k_doubtful_share;
    for (const auto& buffer : checked.buffers) {
      const auto& tensor = shape().tensors[static_cast<std::size_t>(buffer.tensor)];
      const double share =
          static_cast<double>(buffer.doubtful) / static_cast<double>(tensor.elements);
      if (share < most) continue;
      most = share;
      out = buffer.set;
    }
    return out;
  }

  base::Status look_at(Side side, const client::SampleReport& report,
                       const client::CheckReport& checked) {
    auto evidence = evidence_of(checked, shape(), place());
    judge::WorkerState state;
    state.threads_before = m_threads[side];
    state.threads_after = report.threads_after;
    state.children_after = report.children;
    if (side == Side::incumbent)
      m_usual_threads = std::max(m_usual_threads, state.threads_after - state.threads_before);
    state.allowed_threads = std::max(m_usual_threads, pool_threads(*m_request.contract));
    auto stray = judge::stray_work(place(), state);
    evidence.insert(evidence.end(), stray.begin(), stray.end());
    judge::BlockTimes times;
    times.reported_ns = report.pass_ns;
    times.wall_ns = static_cast<double>(report.parent_wall_ns);
    times.overhead_ns = static_cast<double>(report.warmup_spent_ns + report.evict_spent_ns);
    times.cpu_ns = static_cast<double>(report.parent_cpu_ns);
    times.calls_claimed = report.calls;
    times.calls_ordered = static_cast<std::int64_t>(blocks().timed().size());
    if (const auto late = base::get_or<std::int64_t>(report.device, "left_behind", 0); late > 0)
      evidence.push_back(
          {"work_left_behind",
           fmt::format("{} device operations came when an earlier call had been waited for", late),
           {{"operations", late}, {"place", judge::to_json(place())}},
           false});
    if (report.stray_operations > 0)
      evidence.push_back(
          {"work_outside_stream",
           fmt::format("{} device operations of {} calls ran outside them: in another stream, or "
                       "when the call was over",
                       report.stray_operations, report.calls),
           {{"operations", report.stray_operations}, {"place", judge::to_json(place())}},
           true});
    auto& taken = m_taken[side == Side::candidate];
    taken.push_back(report.device_memory_taken);
    // What the other side's blocks do as well is the machine's.
    if (side == Side::candidate && !judge::device_memory(place(), m_taken[0]))
      if (auto leak = judge::device_memory(place(), taken)) evidence.push_back(*leak);
    auto claims = judge::time_claims(place(), times);
    evidence.insert(evidence.end(), claims.begin(), claims.end());
    if (auto changed = judge::process_state(place(), report.changed)) evidence.push_back(*changed);
    auto libraries = library_evidence(*m_request.contract, report.libraries, place());
    evidence.insert(evidence.end(), libraries.begin(), libraries.end());
    return take(side, std::move(evidence));
  }

  base::Status grade_set(Side side, int set, Grader& grader) {
    if (auto expected = grader.expect(set); !expected) {
      end(expected.error(), Side::reference);
      return {};
    }
    AKO_TRY(Graded graded, grader.grade(set, place()));
    if (side == Side::candidate) ++m_graded[m_index];
    if (m_late)
      for (std::size_t i = 0; i < graded.outputs.size(); ++i) {
        judge::Place here = place();
        here.set = set;
        here.tensor = shape().tensors[static_cast<std::size_t>(graded.tensors[i])].name;
        if (graded.outputs[i].reference_at_fault) continue;
        if (auto found = judge::wrong_later(here, graded.outputs[i], m_called[m_index]))
          graded.evidence.insert(graded.evidence.begin(), std::move(*found));
      }
    return take(side, std::move(graded.evidence));
  }

  /// The candidate's evidence is kept and may end it; the incumbent's makes the task wrong.
  base::Status take(Side side, std::vector<model::Evidence> evidence) {
    auto outcome = judge::decide(evidence);
    if (side == Side::candidate) {
      for (auto& each : evidence)
        if (each.decisive || !kept(each)) m_out.weak.push_back(std::move(each));
      if (outcome) m_out.ended = judge::decide(m_out.weak);
    } else if (outcome) {
      m_out.ended = model::Outcome{
          model::OutcomeKind::task_error, model::Fault::task,
          fmt::format("{} at shape {}: {}", m_request.against, shape().tag, outcome->reason),
          outcome->evidence};
    }
    return {};
  }

  /// One weak sign of a kind for each shape is enough.
  bool kept(const model::Evidence& sign) const {
    return std::any_of(m_out.weak.begin(), m_out.weak.end(), [&](const model::Evidence& each) {
      return each.guard == sign.guard && shape_of(each) == shape_of(sign);
    });
  }
  static std::string shape_of(const model::Evidence& evidence) {
    const auto place = base::get_or<base::Json>(evidence.data, "place", base::Json::object());
    return base::get_or<std::string>(place, "shape", "");
  }

  /// A win that comes early leaves few calls graded: the rest of those that it takes are made here,
  /// as far as a second suffices.
  base::Status audit() {
    if (!m_request.judged) return {};
    const int doubt = std::max(m_scrutiny, judge::scrutiny(m_out.weak));
    // What the interval shows, not the estimate: that one may be far too large on a restless
    // machine.
    const std::int64_t wanted =
        judge::calls_to_grade(std::max(m_out.decision.gain.low, m_plan.min_gain), doubt);
    m_audit_until = base::monotonic_ns() + (1 + doubt) * k_audit_ns;
    for (m_index = 0; m_index < m_request.shapes.size() && !m_out.ended; ++m_index) {
      if (m_graded[m_index] >= wanted || audit_is_over()) continue;
      AKO_TRY_STATUS(open(blocks().sets()));
      Grader grader(m_stage, m_request, shape(), m_scales[m_index]);
      while (!m_out.ended && m_graded[m_index] < wanted && !audit_is_over())
        AKO_TRY_STATUS(run_audited(grader));
    }
    // One process is enough to count calls in.
    if (m_round == Round::first || doubt > 0) AKO_TRY_STATUS(look_late());
    return {};
  }

  /// A block of the candidate on new content, graded as far as the audit's time suffices.
  base::Status run_audited(Grader& grader) {
    ++m_content.epoch;
    AKO_TRY_STATUS(m_stage.fill(m_content));
    grader.renew(m_content);
    m_pair = static_cast<int>(m_content.epoch); // both sentinels take turns
    return run_block(Side::candidate, 0, grader).map([](const auto&) {});
  }

  /// A kernel may be right for as long as it is looked at and wrong ever after: one block behind a
  /// thousand calls is graded.
  base::Status look_late() {
    const auto shapes = static_cast<std::int64_t>(m_request.shapes.size());
    for (m_index = 0; m_index < m_request.shapes.size() && !m_out.ended; ++m_index) {
      AKO_TRY_STATUS(open(blocks().sets()));
      if (m_out.ended) break;
      AKO_TRY_STATUS(make_calls(base::monotonic_ns() + k_late_ns / shapes));
      if (m_out.ended) break;
      if (m_called[m_index] < k_late_calls)
        m_out.unproven.push_back(
            fmt::format("{}: what comes after {} calls: more than that, of {} that are wanted, did "
                        "not fit into {:.1f} s",
                        shape().tag, m_called[m_index], k_late_calls,
                        static_cast<double>(k_late_ns / shapes) / 1e9));
      Grader grader(m_stage, m_request, shape(), m_scales[m_index]);
      m_audit_until = base::monotonic_ns() + k_audit_ns / shapes;
      m_late = true;
      AKO_TRY_STATUS(run_audited(grader));
      m_late = false;
    }
    return {};
  }

  /// Calls that nobody times or looks at.
  base::Status make_calls(std::int64_t until) {
    const double call_ns = std::max(m_out.decision.shapes[m_index].new_ns, 1.0);
    client::SampleJob job = timed_job();
    job.cache = model::CacheState::warm; // without evictions, which take longer than the calls
    job.warm_tensors.clear();
    // What is updated in place must not be updated again and again.
    const bool again = has_inouts(shape());
    while (m_called[m_index] < k_late_calls && base::monotonic_ns() < until) {
      if (again) {
        ++m_content.epoch;
        AKO_TRY_STATUS(m_stage.fill(m_content));
      } else {
        const auto left = static_cast<double>(k_late_calls - m_called[m_index]);
        job.warmup_sets = job.sets;
        job.warmup_ns = std::min(static_cast<std::int64_t>(left * call_ns),
                                 std::max<std::int64_t>(0, until - base::monotonic_ns()));
      }
      auto report = m_stage.sample(Side::candidate, job);
      if (!report) {
        end(report.error(), Side::candidate);
        return {};
      }
      m_called[m_index] += report->calls + report->warmup_calls;
    }
    return {};
  }
  bool audit_is_over() const { return base::monotonic_ns() >= m_audit_until; }

  /// Faster than the machine can be: the candidate's claim is void; the incumbent's, the contract.
  base::Status check_floors() {
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

  /// Faster than what it replaces by its own clock alone.
  void check_claims() {
    for (std::size_t s = 0; s < m_claims.size() && !m_out.ended; ++s) {
      m_index = s;
      static_cast<void>(take(Side::candidate, m_claims[s].evidence(place())));
    }
  }

  Stage& m_stage;
  const Request& m_request;
  stats::Plan m_plan;
  Coins m_coins;
  Watch m_watch;
  Round m_round;
  stats::DisturbedPolicy m_policy;
  stats::Series m_series;
  Measured m_out;
  Content m_content;
  std::vector<Claims> m_claims;         ///< per shape
  std::vector<std::int64_t> m_graded;   ///< per shape: timed calls of the candidate
  std::vector<std::int64_t> m_called;   ///< per shape: calls in blocks, warm-up included
  std::map<Side, int> m_threads;        ///< of each side when it had loaded
  std::vector<std::int64_t> m_taken[2]; ///< device memory, per block of this placement: old, new
  int m_usual_threads = 0;              ///< that came to the incumbent since
  int m_scrutiny = 0;
  bool m_late = false;            ///< in the block behind the calls of look_late()
  std::int64_t m_audit_until = 0; ///< 0 = before the audit
  std::vector<Scales> m_scales;   ///< per shape, of the plain recipe
  client::SampleReport m_last;    ///< of the block that ran last
  std::int64_t m_grading_ns = 0;
  std::size_t m_index = 0;
  int m_placement = 0, m_pair = 0, m_lot = 0; ///< m_lot: the pair whose blocks are graded
  bool m_large = false;
};

} // namespace

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
