// What stands behind the opaque ako_measure of the C interface.
#pragma once

#include "ako/measure.h"
#include "measure/cache.hpp"
#include "measure/counters.hpp"
#include "measure/ticks.hpp"

#include <string>
#include <vector>

struct ako_measure {
  ako::measure::Ticks ticks;
  ako::measure::CacheFacts cache;
  ako::measure::EvictBuffer evict;
  ako::measure::Counters counters;
  std::vector<std::uint64_t> intervals; ///< ticks per timed interval of the last run
  std::string message;

  int fail(int status, const char* text) {
    message = text;
    return status;
  }
};
