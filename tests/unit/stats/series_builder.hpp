// Small made-up series for the tests of the paired test.
#pragma once

#include "stats/paired_test.hpp"

#include <cstdint>

namespace ako::stats {

struct Recipe {
  std::vector<double> gains = {0}; ///< true gain of each shape
  std::vector<double> base_ns = {100000};
  std::vector<double> weights = {1};
  double noise = 0.004; ///< of a sample, relative
  double placement = 0; ///< of each side's answer to a placement
  int placements = 20, pairs = 10;
  std::uint64_t seed = 1;
};
Series build(const Recipe& recipe);

} // namespace ako::stats
