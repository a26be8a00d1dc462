#include "evaluation/watch.hpp"

#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>

namespace ako::evaluation {

namespace {

std::int64_t timed_part(const client::SampleReport& report) {
  return std::max<std::int64_t>(0, report.last_ns - report.first_ns);
}

double device_clock(const client::MachineState& state) {
  return static_cast<double>(base::get_or<std::int64_t>(state.device, "sm_mhz", 0)) / 1000;
}

/// Processes that came to the device between two states.
std::int64_t neighbours(const client::MachineState& before, const client::MachineState& after) {
  return base::get_or<std::int64_t>(after.device, "processes", 0) -
         base::get_or<std::int64_t>(before.device, "processes", 0);
}

} // namespace

std::int64_t waited_in_time(const client::SampleReport& report) {
  // Waking up to a command is waiting as well, and as long as a short block: only what the timed
  // part has to spare can have been lost in it. With several threads at work nothing is to spare.
  const std::int64_t timed = timed_part(report);
  // The two clocks are read one after the other: one thread's time may come out a little longer.
  const bool several = report.cpu_ns > timed + timed / 4 + 20'000;
  const std::int64_t idle = several ? timed : std::max<std::int64_t>(0, timed - report.cpu_ns);
  return std::clamp<std::int64_t>(report.parent_wait_ns, 0, idle);
}

base::Status Watch::begin() {
  AKO_TRY(m_before, m_stage.machine());
  m_wait_ns = m_wall_ns = 0;
  return {};
}

void Watch::add(const client::SampleReport& report) {
  m_wait_ns += waited_in_time(report);
  m_wall_ns += timed_part(report);
}

base::Expected<Watch::Seen> Watch::end() {
  AKO_TRY(client::MachineState after, m_stage.machine());
  const bool on_device = after.device.contains("sm_mhz");
  const double clock =
      on_device ? device_clock(after) : 0.5 * (m_before.adds_per_ns + after.adds_per_ns);
  if (std::isfinite(clock) && clock > 0) m_clocks.push_back(clock);
  Seen out;
  out.watch.clock_ratio = m_clocks.empty() ? 1 : clock / stats::median(m_clocks);
  if (on_device) {
    // What the host does meanwhile is nothing to a gated block; other work on the device is.
    out.watch.foreign_load = neighbours(m_before, after) > 0 ? 1 : 0;
    out.watch.hardware_limit = base::get_or<bool>(after.device, "hardware_limit", false);
    out.watch.software_cap =
        base::get_or<std::string>(after.device, "reason_words", "").find("software power") !=
        std::string::npos;
  } else if (m_wall_ns > 0)
    out.watch.foreign_load = static_cast<double>(m_wait_ns) / static_cast<double>(m_wall_ns);
  out.state.clock_ratio = out.watch.clock_ratio;
  out.state.foreign_load = out.watch.foreign_load;
  out.state.parent_wall_ns = static_cast<double>(after.at_ns - m_before.at_ns);
  out.state.device = after.device;
  return out;
}

} // namespace ako::evaluation
