// What stands behind the opaque ako_measure of the C interface.
#pragma once

#include "ako/measure.h"
#include "measure/cache.hpp"
#include "measure/counters.hpp"
#include "measure/ticks.hpp"

#include <algorithm>
#include <string>
#include <vector>

struct ako_measure {
  ako::measure::Ticks ticks;
  ako::measure::CacheFacts cache;
  ako::measure::EvictBuffer evict;
  ako::measure::Counters counters;
  std::vector<std::uint64_t> intervals; ///< ticks per timed interval of the last run
  std::uint32_t parts = 0;              ///< in which a pass was timed
  std::string message;

  /// Time of intervals that were timed in `timings` pieces.
  double to_ns(std::uint64_t interval, std::uint32_t timings = 1) const {
    return std::max(0.0, ticks.to_ns(interval) - timings * ticks.overhead_ns());
  }
  int fail(int status, const char* text) {
    message = text;
    return status;
  }
};
