#include "evaluation/watch.hpp"

#include "stats/summary.hpp"

#include <cmath>

namespace ako::evaluation {

base::Status Watch::begin() {
  AKO_TRY(m_before, m_stage.machine());
  m_own_before = m_stage.own_cpu_ns();
  return {};
}

base::Expected<Watch::Seen> Watch::end() {
  const std::int64_t own = m_stage.own_cpu_ns() - m_own_before;
  AKO_TRY(client::MachineState after, m_stage.machine());
  const double clock = 0.5 * (m_before.adds_per_ns + after.adds_per_ns);
  if (std::isfinite(clock) && clock > 0) m_clocks.push_back(clock);
  Seen out;
  out.watch.clock_ratio = m_clocks.empty() ? 1 : clock / stats::median(m_clocks);
  out.watch.foreign_load = client::foreign_load(m_before, after, own);
  out.state.clock_ratio = out.watch.clock_ratio;
  out.state.foreign_load = out.watch.foreign_load;
  out.state.parent_wall_ns = static_cast<double>(after.at_ns - m_before.at_ns);
  out.state.device = after.device;
  return out;
}

} // namespace ako::evaluation
