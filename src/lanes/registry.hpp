// The lanes this build of ako has.
#pragma once

#include "lanes/lane.hpp"

namespace ako::lanes {

/// Kind unsupported, listing those there are, when this build has no such lane.
base::Expected<const LaneDriver*> find_lane(model::Lane lane);
const std::vector<const LaneDriver*>& all_lanes();

/// An artifact's resource report for people, one line a kernel; empty for lanes without one.
std::string resource_text(const base::Json& report);

} // namespace ako::lanes
