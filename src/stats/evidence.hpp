// From a series of pairs to one value for each placement, for each shape and for the weighted sum.
#pragma once

#include "stats/paired_test.hpp"

#include <vector>

namespace ako::stats {

/// Values are log(new/old), one for each usable placement.
struct Line {
  std::vector<double> values;
  double centre = 0;     ///< their mean
  double spread = 0;     ///< their standard deviation
  double pair_error = 0; ///< part of the spread that the pairs' noise explains
  double time_ns = 0;    ///< between old and new: sqrt(old * new), typical
};

struct SeriesEvidence {
  std::vector<Line> shapes;
  Line total;
  int usable = 0, unusable = 0; ///< placements
  int pairs = 0;
};

/// A placement is usable when at least half of each shape's pairs are quiet.
base::Expected<SeriesEvidence> gather(const Series& series, ClockUse clock);

} // namespace ako::stats
