// When to stop doing what one does, besides the stall: the seed's other conditions. Pure.
#pragma once

#include "ledger/events.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

struct Stop {
  enum class Kind {
    shape_dependent,  ///< right at some shapes and wrong at others, again
    unrepresentative, ///< won where production hardly is
    micro_only        ///< the microbench improves and operator or model do not
  };
  Kind kind = Kind::shape_dependent;
  std::string text; ///< one sentence with the numbers
  std::string next;
};
const char* to_string(Stop::Kind kind);

struct StopFacts {
  std::vector<ledger::Iteration> recent; ///< rising; the last few
  std::vector<std::string> shapes;       ///< tags of the contract's shapes
  std::int64_t rejected_iteration = 0;   ///< incumbent of the last rejected port; 0 = none
  std::string rejected_reason;
  std::int64_t confirmed_iteration = 0; ///< of the last confirmed port; 0 = none
};

std::vector<Stop> stops(const StopFacts& facts);

} // namespace ako::loop
