#include "evaluation/watch.hpp"

#include "stats/summary.hpp"

#include <cmath>

namespace ako::evaluation {

base::Status Watch::begin() {
  AKO_TRY(m_before, m_stage.machine());
  m_wait_ns = m_wall_ns = 0;
  return {};
}

void Watch::add(const client::SampleReport& report) {
  m_wait_ns += report.parent_wait_ns;
  m_wall_ns += report.parent_wall_ns;
}

base::Expected<Watch::Seen> Watch::end() {
  AKO_TRY(client::MachineState after, m_stage.machine());
  const double clock = 0.5 * (m_before.adds_per_ns + after.adds_per_ns);
  if (std::isfinite(clock) && clock > 0) m_clocks.push_back(clock);
  Seen out;
  out.watch.clock_ratio = m_clocks.empty() ? 1 : clock / stats::median(m_clocks);
  if (m_wall_ns > 0)
    out.watch.foreign_load = static_cast<double>(m_wait_ns) / static_cast<double>(m_wall_ns);
  out.state.clock_ratio = out.watch.clock_ratio;
  out.state.foreign_load = out.watch.foreign_load;
  out.state.parent_wall_ns = static_cast<double>(after.at_ns - m_before.at_ns);
  out.state.device = after.device;
  return out;
}

} // namespace ako::evaluation
