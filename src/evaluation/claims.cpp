#include "evaluation/claims.hpp"

namespace ako::evaluation {

void Claims::note(model::Side side, const client::SampleReport& report,
                  judge::PairClaims& pair) const {
  // On a device the host's time is that of queueing and of fetching timestamps, which differs
  // between two processes by more than a small gain; work of the device outside the calls is seen
  // by its records (SampleReport::stray_operations).
  const double outside = !report.device.empty() ? report.pass_ns
                         : m_threads == 1 && report.parent_cpu_ns > 0
                             ? static_cast<double>(report.parent_cpu_ns)
                             : static_cast<double>(report.parent_wall_ns);
  const bool old = side == model::Side::incumbent;
  (old ? pair.old_outside_ns : pair.new_outside_ns) = outside;
  (old ? pair.old_claimed_ns : pair.new_claimed_ns) = report.pass_ns;
}

std::vector<model::Evidence> Claims::evidence(const judge::Place& place) const {
  std::vector<model::Evidence> out;
  if (auto found = judge::untimed_work(place, m_pairs)) out.push_back(*found);
  return out;
}

} // namespace ako::evaluation
