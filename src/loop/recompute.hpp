// Verdicts worked out again from the raw samples on record.
#pragma once

#include "ledger/queries.hpp"

#include <string>
#include <vector>

namespace ako::loop {

struct Recomputed {
  std::string what; ///< "iteration 4", "second opinion on iteration 4", "operator in the target"
  std::int64_t event = 0;
  enum class Result {
    same,
    different, ///< the samples say something else than the verdict
    untimed,   ///< it was decided before anything was timed: there are no samples to it
  } result = Result::untimed;
  std::string recorded, found; ///< with different: both, in words
};

/// Every verdict and every baseline's figures of the ledger. Kind invalid when the contract that a
/// verdict was made under is not on record.
base::Expected<std::vector<Recomputed>> recompute_all(ledger::Reader& reader);

} // namespace ako::loop
