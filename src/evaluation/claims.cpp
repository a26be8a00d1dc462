#include "evaluation/claims.hpp"

#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>

namespace ako::evaluation {
namespace {

/// Pairs of either kind before they are held against each other.
constexpr std::size_t k_least_of_a_kind = 4;

double relative_error(const std::vector<double>& values) {
  const double centre = stats::median(values);
  std::vector<double> off;
  for (double value : values) off.push_back(std::fabs(value - centre));
  return 1.2533 * 1.4826 * stats::median(off) /
         (centre * std::sqrt(static_cast<double>(values.size())));
}

} // namespace

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

void Claims::add(const judge::PairClaims& pair, Fresh fresh) {
  m_pairs.push_back(pair);
  if (pair.old_claimed_ns > 0 && pair.new_claimed_ns > 0)
    (fresh == Fresh::whole ? m_whole : m_in_part)
        .push_back(pair.new_claimed_ns / pair.old_claimed_ns);
}

std::vector<model::Evidence> Claims::evidence(const judge::Place& place) const {
  std::vector<model::Evidence> out;
  if (auto found = judge::untimed_work(place, m_pairs)) out.push_back(*found);
  if (m_whole.size() < k_least_of_a_kind || m_in_part.size() < k_least_of_a_kind) return out;
  // Not std::hypot: its newest symbol is younger than the glibc that releases run on.
  const double whole = relative_error(m_whole), part = relative_error(m_in_part);
  const double noise = std::sqrt(whole * whole + part * part);
  if (auto found = judge::replay(place, stats::median(m_whole), stats::median(m_in_part), noise,
                                 judge::Basis::against_incumbent))
    out.push_back(*found);
  return out;
}

} // namespace ako::evaluation
