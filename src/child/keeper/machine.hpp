// What else the machine is doing: processor time per core, and the core's clock.
#pragma once

#include "base/json.hpp"
#include "measure/ticks.hpp"

#include <vector>

namespace ako::keeper {

/// The `machine` answer of the protocol. The clock probe takes about 200 us.
base::Json machine_state(const measure::Ticks& ticks, const std::vector<int>& cores);

} // namespace ako::keeper
