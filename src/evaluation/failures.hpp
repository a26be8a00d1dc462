// How a worker ended, as an outcome: whose fault it is depends on whose worker it was.
#pragma once

#include "client/failure.hpp"
#include "model/outcome.hpp"
#include "model/samples.hpp"

#include <string>

namespace ako::evaluation {

/// `shape` is the tag at hand, empty while loading. The candidate's failures are its own; the
/// reference's and the incumbent's are the task's.
model::Outcome outcome_of(const client::WorkerFailure& failure, model::Side side,
                          const std::string& shape);

} // namespace ako::evaluation
