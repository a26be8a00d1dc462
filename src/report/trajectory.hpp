// How far a task has come, and at what price: one row an iteration, comparable between agents.
#pragma once

#include "ledger/queries.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::report {

struct TrajectoryRow {
  std::int64_t iteration = 0, turn = 0; ///< turn of the campaign; 0 = made by hand
  std::string campaign;
  std::string outcome, decision, hypothesis;
  bool confirmed = false;
  std::optional<double> gain;      ///< against the incumbent of the moment
  std::optional<double> best_gain; ///< measured against the baseline, of the incumbent after it
  double speedup = 1;              ///< 1 / (1 - best_gain)
  // All of these are sums up to and with this iteration.
  double wall_seconds = 0;   ///< agents and evaluations
  double device_seconds = 0; ///< evaluations
  double agent_seconds = 0, money = 0;
  std::int64_t turns = 0; ///< agents' turns, those without an iteration included
  bool closing = false;   ///< no iteration: what turns have spent since the last one
};

/// In rising order. Iterations made by hand take no agent's time and cost nothing. Several settings
/// of a campaign count with their turns, money, device time and the longest one's wall time, before
/// the best of them are tried. Where turns came after the last iteration a closing row has their
/// sums.
base::Expected<std::vector<TrajectoryRow>> trajectory(ledger::Reader& reader);

std::string to_json_lines(const std::vector<TrajectoryRow>& rows);
std::string trajectory_table(const std::vector<TrajectoryRow>& rows);
/// Best speed-up against iterations, wall time, device time and, where there is any, money: one SVG
/// file that reads in light and dark.
std::string trajectory_svg(const std::vector<TrajectoryRow>& rows);

} // namespace ako::report
