// One number for each placement out of its pairs.
#pragma once

#include <span>
#include <vector>

namespace ako::stats {

/// bounded: pairs far from the common centre lose their weight (spikes, clock states).
/// plain: every pair counts the same.
enum class Weighing { bounded, plain };

struct Centre {
  std::vector<double> values; ///< one for each placement; their mean is the series' centre
  double pair_error = 0;      ///< what the pairs' noise alone adds to a value (standard deviation)
  Weighing weighing = Weighing::plain;
};

/// `log_ratios` holds the placements' pairs one after the other, `counts[p]` of them each (>= 1).
///
/// Outliers are recognised against all placements together, because ten pairs cannot tell a clock
/// state from the truth. Pairs are bounded only where that is safe, which is where those near the
/// centre clearly outnumber those beside it on either side, the outliers fall evenly to both sides
/// (a slow path of one program alone is that program's time, not a disturbance), and the values are
/// not ticks of a coarse clock. Otherwise every pair counts.
Centre centre_of(std::span<const double> log_ratios, std::span<const int> counts);

} // namespace ako::stats
