#include "base/time.hpp"
#include "evaluation/failures.hpp"
#include "evaluation/rounds.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace ako::evaluation {
namespace {

constexpr std::int64_t k_audit_ns = 1'000'000'000;
/// Calls at a shape before the one that is graded last, and the time that they may take, all shapes
/// together.
constexpr std::int64_t k_late_calls = 1000, k_late_ns = 1'000'000'000;

} // namespace

base::Status Rounds::audit() {
  if (!m_request.judged) return {};
  const int doubt = std::max(m_scrutiny, judge::scrutiny(m_out.weak));
  // What the interval shows, not the estimate: that one may be far too large on a restless
  // machine.
  const std::int64_t wanted =
      judge::calls_to_grade(std::max(m_out.decision.gain.low, m_plan.min_gain), doubt);
  std::vector<std::size_t> order(m_request.shapes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(m_coins.below(static_cast<int>(i)))]);
  std::int64_t left_ns = (1 + doubt) * k_audit_ns;
  for (std::size_t i = 0; i < order.size() && !m_out.ended; ++i) {
    m_index = order[i];
    // What a shape does not need goes to those behind it.
    const std::int64_t started = base::monotonic_ns();
    m_audit_until = started + left_ns / static_cast<std::int64_t>(order.size() - i);
    AKO_TRY_STATUS(audit_shape(wanted));
    left_ns = std::max<std::int64_t>(0, left_ns - (base::monotonic_ns() - started));
  }
  // One process is enough to count calls in.
  if (m_round == Round::first || doubt > 0) AKO_TRY_STATUS(look_late());
  return {};
}

base::Status Rounds::audit_shape(std::int64_t wanted) {
  if (m_graded[m_index] >= wanted) return {};
  AKO_TRY_STATUS(open(blocks().sets()));
  Grader grader(m_stage, m_request, shape(), m_scales[m_index]);
  while (!stopped() && m_graded[m_index] < wanted && !audit_is_over())
    AKO_TRY_STATUS(run_audited(grader));
  if (!m_out.ended && m_graded[m_index] < wanted)
    m_out.unproven.push_back(fmt::format("{}: {} timed calls graded of {} wanted", shape().tag,
                                         m_graded[m_index], wanted));
  return {};
}

base::Status Rounds::run_audited(Grader& grader) {
  AKO_TRY_STATUS(renew_content());
  grader.renew(m_content);
  m_pair = static_cast<int>(m_content.epoch); // both sentinels take turns
  return run_block(Side::candidate, 0, grader).map([](const auto&) {});
}

base::Status Rounds::look_late() {
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

base::Status Rounds::make_calls(std::int64_t until) {
  const double call_ns = std::max(m_out.decision.shapes[m_index].new_ns, 1.0);
  client::SampleJob job = timed_job();
  job.cache = model::CacheState::warm; // without evictions, which take longer than the calls
  job.warm_tensors.clear();
  // What is updated in place must not be updated again and again.
  const bool again = has_inouts(shape());
  while (m_called[m_index] < k_late_calls && base::monotonic_ns() < until) {
    if (again) {
      AKO_TRY_STATUS(renew_content());
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

bool Rounds::audit_is_over() const { return base::monotonic_ns() >= m_audit_until; }

} // namespace ako::evaluation
