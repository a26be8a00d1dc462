// What to try for a finding, by lane and architecture: a table, with the guides that say more.
#pragma once

#include "model/profile.hpp"

#include <string_view>
#include <vector>

namespace ako::profiles {

/// The class of a finding id ("compute", "memory", ...); empty for an id that does not exist.
std::string_view kind_of(std::string_view id);
/// All ids, those from captures first, then those from timelines.
std::vector<std::string_view> finding_ids();

/// Moves for the finding on an architecture (0 = unknown: only moves that hold anywhere), those of
/// `lane` first; with a lane given, moves of other lanes are left out. Never empty for an existing
/// id.
std::vector<model::Move> moves_for(std::string_view id, int capability, std::string_view lane = {});

} // namespace ako::profiles
