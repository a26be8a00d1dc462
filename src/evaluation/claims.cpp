#include "evaluation/claims.hpp"

namespace ako::evaluation {

void Claims::note(model::Side side, const client::SampleReport& report,
                  judge::PairClaims& pair) const {
  // On a device the host's time is that of queueing and of fetching timestamps, which differs
  // between two processes by more than a small gain. There ako's own kernels stand around every
  // call: what passed between them is known also where the candidate's operations left no records.
  // Work outside that is told by its records (SampleReport::stray_operations).
  const double device = report.window_ns > 0 ? report.window_ns : report.pass_ns;
  const double outside = !report.device.empty() ? device
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
