#include "base/time.hpp"
#include "evaluation/failures.hpp"
#include "evaluation/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <thread>

namespace ako::evaluation {
namespace {

/// Time that grading may take after one block; the first of a placement gets more.
constexpr std::int64_t k_grading_ns = 3'000'000, k_first_grading_ns = 20'000'000;
/// A buffer of which this share still looks like marks is graded whatever the lot says.
constexpr double k_doubtful_share = 0.25;

/// Beside the calling thread; 0 in the contract = every core.
int pool_threads(const model::Contract& contract) {
  if (contract.kernel.lane != model::Lane::cpu) return 0;
  const int threads = contract.limits.threads;
  return threads > 0 ? threads - 1 : static_cast<int>(std::thread::hardware_concurrency());
}

std::string shape_of(const model::Evidence& evidence) {
  const auto place = base::get_or<base::Json>(evidence.data, "place", base::Json::object());
  return base::get_or<std::string>(place, "shape", "");
}

} // namespace

client::SampleJob Rounds::timed_job() const {
  client::SampleJob job;
  job.sets = blocks().timed();
  job.warmup_sets = blocks().warmup();
  job.cache = blocks().cache;
  job.eviction = blocks().eviction;
  job.warm_tensors = blocks().warm_tensors;
  job.clock = m_request.contract->accept.clock;
  return job;
}

std::vector<int> Rounds::drawn_order() {
  auto order = blocks().timed();
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(m_coins.below(static_cast<int>(i)))]);
  return order;
}

base::Expected<model::Sample> Rounds::run_block(Side side, int turn, Grader& grader) {
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
  auto job = timed_job();
  job.sets = drawn_order();
  AKO_TRY(auto observed, observe(side, job));
  if (!observed) return row;
  row.calls = observed->report.calls;
  row.device_ns = observed->report.ns_per_call();
  m_out.cache_state = observed->report.cache_state;
  if (side == Side::candidate) m_out.calls += observed->report.calls;
  m_last = std::move(observed->report);
  // The reference must not run on a content before the candidate has: what the incumbent wrote
  // is graded where it ran second.
  if (!m_out.ended && m_request.judged && (side == Side::candidate || turn == 1))
    AKO_TRY_STATUS(grade(side, observed->checked, row, grader));
  return row;
}

base::Expected<std::optional<Rounds::Observed>>
Rounds::observe(Side side, const client::SampleJob& job, Swept swept) {
  std::vector<int> marked = job.sets;
  std::sort(marked.begin(), marked.end());
  // Both sentinels take turns: what happens to equal the one is seen by the other.
  const auto sentinel = m_pair % 2 == 0 ? inputs::Sentinel::first : inputs::Sentinel::second;
  AKO_TRY_STATUS(m_stage.poison(sentinel, marked));
  if (swept == Swept::by_keeper) AKO_TRY_STATUS(m_stage.sweep());
  auto report = m_stage.sample(side, job);
  if (!report) {
    end(report.error(), side);
    return std::nullopt;
  }
  m_watch.add(*report);
  m_out.inside_ns += report->parent_wall_ns;
  if (side == Side::candidate) m_called[m_index] += report->calls + report->warmup_calls;
  AKO_TRY(client::CheckReport checked, m_stage.check(marked));
  AKO_TRY_STATUS(
      look_at(side, *report, checked, static_cast<std::int64_t>(job.sets.size()) * job.repeat));
  return Observed{std::move(*report), std::move(checked)};
}

/// Timed outputs in full, chosen by lot after the block ran, as many as the time allows: at least
/// one in the first block of every placement, otherwise one in so many blocks. Large sets take
/// longer to grade than a block to run: one block of each placement is drawn for it.
base::Status Rounds::grade(Side side, const client::CheckReport& checked, model::Sample& row,
                           Grader& grader) {
  auto order = drawn_order();
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

int Rounds::doubtful_set(const client::CheckReport& checked) const {
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

std::vector<model::Evidence> Rounds::strays(Side side, const client::SampleReport& report) {
  judge::WorkerState state;
  state.threads_before = m_threads[side];
  state.threads_after = report.threads_after;
  state.children_after = report.children;
  if (side == Side::incumbent)
    m_usual_threads = std::max(m_usual_threads, state.threads_after - state.threads_before);
  state.allowed_threads = std::max(m_usual_threads, pool_threads(*m_request.contract));
  return judge::stray_work(place(), state);
}

std::vector<model::Evidence> Rounds::device_signs(Side side, const client::SampleReport& report) {
  std::vector<model::Evidence> out;
  if (const auto late = base::get_or<std::int64_t>(report.device, "left_behind", 0); late > 0)
    out.push_back(
        {"work_left_behind",
         fmt::format("{} device operations came when an earlier call had been waited for", late),
         {{"operations", late}, {"place", judge::to_json(place())}},
         false});
  if (report.stray_operations > 0)
    out.push_back({"work_outside_stream",
                   fmt::format("{} device operations of {} calls ran outside them: in another "
                               "stream, or when the call was over",
                               report.stray_operations, report.calls),
                   {{"operations", report.stray_operations}, {"place", judge::to_json(place())}},
                   true});
  auto& taken = m_taken[side == Side::candidate];
  taken.push_back(report.device_memory_taken);
  // What the other side's blocks do as well is the machine's.
  if (side == Side::candidate && !judge::device_memory(place(), m_taken[0]))
    if (auto leak = judge::device_memory(place(), taken)) out.push_back(*leak);
  return out;
}

base::Status Rounds::look_at(Side side, const client::SampleReport& report,
                             const client::CheckReport& checked, std::int64_t ordered) {
  auto evidence = evidence_of(checked, shape(), place());
  const auto add = [&](const std::vector<model::Evidence>& more) {
    evidence.insert(evidence.end(), more.begin(), more.end());
  };
  add(strays(side, report));
  add(device_signs(side, report));
  judge::BlockTimes times;
  times.reported_ns = report.pass_ns;
  times.wall_ns = static_cast<double>(report.parent_wall_ns);
  times.overhead_ns = static_cast<double>(report.warmup_spent_ns + report.evict_spent_ns);
  times.cpu_ns = static_cast<double>(report.parent_cpu_ns);
  times.calls_claimed = report.calls;
  times.calls_ordered = ordered;
  add(judge::time_claims(place(), times));
  if (auto changed = judge::process_state(place(), report.changed)) evidence.push_back(*changed);
  add(library_evidence(*m_request.contract, report.libraries, place()));
  return take(side, std::move(evidence));
}

base::Status Rounds::grade_set(Side side, int set, Grader& grader) {
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

base::Status Rounds::take(Side side, std::vector<model::Evidence> evidence) {
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

bool Rounds::kept(const model::Evidence& sign) const {
  return std::any_of(m_out.weak.begin(), m_out.weak.end(), [&](const model::Evidence& each) {
    return each.guard == sign.guard && shape_of(each) == shape_of(sign);
  });
}

} // namespace ako::evaluation
