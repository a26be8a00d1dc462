// The sources that a candidate has to beat.
#pragma once

#include "loop/builds.hpp"
#include "loop/session.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace ako::loop {

/// The sources that count now: the last kept candidate, or the fastest baseline.
struct Incumbent {
  std::string label;                   ///< "iteration 4", "baseline:first"
  std::int64_t iteration = 0;          ///< 0 = a baseline
  model::Sources sources;              ///< of a kept candidate
  std::string baseline;                ///< its name otherwise
  std::optional<model::Kernel> kernel; ///< where it was kept under another [kernel]: another lane
};
/// Name of the baseline that counts: the fastest measured, else the first of the contract.
base::Expected<std::string> fastest_baseline(const Session& session);
base::Expected<Incumbent> incumbent_of(const Session& session);
/// What solution/ holds when nothing is being tried. After a change of lane that is where the new
/// lane began: the incumbent's sources are another lane's.
base::Expected<model::Sources> standing_sources(const Session& session, const Incumbent& incumbent);
base::Expected<BuildOutcome> build_incumbent_side(Builder& builder, const Incumbent& incumbent);
base::Expected<Built> build_incumbent(Builder& builder, const Incumbent& incumbent);

} // namespace ako::loop
