#include "evaluation/claims.hpp"

#include "evaluation/watch.hpp"

#include <algorithm>

namespace ako::evaluation {
namespace {

/// Between ako's kernels and those of one call, before and after: graphs and clusters take longest.
constexpr double k_launch_ns = 10e3;

/// What it says of its evictions, as far as the outside has room for it. On a device they are told
/// by its own clock.
double eviction_of(const client::SampleReport& report, double outside_ns) {
  if (!report.device.empty()) return 0;
  const double room = outside_ns - report.pass_ns - static_cast<double>(report.warmup_spent_ns);
  return std::min(static_cast<double>(report.evict_spent_ns), std::max(0.0, room));
}

/// Where the core was given to others, time passed in the timed part as well: it counts on both
/// clocks. A team may make its threads wait for one another, as long as it likes: of its waiting
/// nothing is believed.
std::int64_t passed_outside(const client::SampleReport& report, int threads) {
  if (threads != 1 || report.parent_cpu_ns <= 0) return report.parent_wall_ns;
  return report.parent_cpu_ns + waited_in_time(report);
}

} // namespace

void Claims::note(model::Side side, const client::SampleReport& report,
                  judge::PairClaims& pair) const {
  // On a device the host's time is that of queueing and of fetching timestamps, which differs
  // between two processes by more than a small gain. There ako's own kernels stand around every
  // call: what passed between them is known also where the candidate's operations left no records.
  // Work outside that is told by its records (SampleReport::stray_operations).
  // How long a launch takes to begin depends on its kind: so much of it is no evidence.
  const double around = report.window_ns - k_launch_ns * report.calls;
  const double device = std::max(around, report.pass_ns);
  const double outside =
      !report.device.empty() ? device : static_cast<double>(passed_outside(report, m_threads));
  const bool old = side == model::Side::incumbent;
  (old ? pair.old_outside_ns : pair.new_outside_ns) = outside;
  (old ? pair.old_claimed_ns : pair.new_claimed_ns) = report.pass_ns;
  (old ? pair.old_evict_ns : pair.new_evict_ns) = eviction_of(report, outside);
}

std::vector<model::Evidence> Claims::evidence(const judge::Place& place) const {
  std::vector<model::Evidence> out;
  for (const auto& found : {untimed(place), judge::eviction_skipped(place, m_pairs)})
    if (found) out.push_back(*found);
  return out;
}

} // namespace ako::evaluation
