// The inputs that this contract is judged on, and the lease that measuring needs.
#pragma once

#include "executors/lease.hpp"
#include "inputs/recipe.hpp"
#include "loop/session.hpp"

namespace ako::loop {

/// Plain and those that the last `ako check` of this contract found necessary; plain alone when
/// there is none.
base::Expected<std::vector<inputs::Recipe>> judged_recipes(const Session& session);

/// The right to measure on this machine; waits for other ako processes and says so.
base::Expected<executors::Lease> take_lease();

} // namespace ako::loop
