// The numbers of a decision.
#pragma once

#include "base/json.hpp"
#include "model/outcome.hpp"

#include <string>
#include <vector>

namespace ako::model {

struct Interval {
  double low = 0, high = 0;
};

struct ShapeVerdict {
  std::string tag;
  double weight = 1;
  double old_ns = 0, new_ns = 0; ///< robust centres, per call
  double gain = 0;               ///< 1 - new/old
  Interval interval;             ///< of the gain
  double floor_ns = 0;           ///< 0 = none known
  bool within_regression = true;
};

struct Verdict {
  Outcome outcome;
  double gain = 0; ///< 1 - sum(w new)/sum(w old)
  Interval interval;
  double alpha_spent = 0;
  int placements = 0, pairs = 0;
  std::vector<ShapeVerdict> shapes;
  bool confirmed = false;              ///< by a second opinion
  std::string against;                 ///< "incumbent <hash>" or "baseline:<name>"
  std::string clock, cache, statistic; ///< how the figures were taken: "host", "cold-clean", "mean
                                       ///< of log ratios over placements"
  std::string more_needed;             ///< undecided: what it would take
};

base::Json to_json(const Verdict&);
base::Expected<Verdict> verdict_from_json(const base::Json&);

} // namespace ako::model
