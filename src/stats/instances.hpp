// Intervals where memory cannot be shared: the replicate is the instance (process and allocation).
// Kernels share the keeper's buffers on every lane and are compared by paired_test.hpp; whole
// programs, the commands of [[gate]], bring memory of their own.
#pragma once

#include "base/error.hpp"
#include "stats/paired_test.hpp"

#include <vector>

namespace ako::stats {

/// One fresh process with buffers of its own and what it measured: times of one shape, or the one
/// figure of a command. Positive, whatever their unit.
struct Instance {
  std::vector<double> times_ns;
};

struct InstanceResult {
  Gain gain;              ///< Welch interval on log centres of instances
  double between_old = 0; ///< standard deviation between instances, relative
  double between_new = 0;
  double within = 0;  ///< typical standard deviation of a sample within an instance, relative
  double degrees = 0; ///< of freedom
};

/// Gain of `new_side` over `old_side` with an interval over instances at `level`. At least two
/// instances a side, each with at least one usable time: kind invalid otherwise.
base::Expected<InstanceResult> compare_instances(const std::vector<Instance>& old_side,
                                                 const std::vector<Instance>& new_side,
                                                 double level);

} // namespace ako::stats
