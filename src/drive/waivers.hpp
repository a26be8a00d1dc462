// Which closed gates a campaign passes over: those that its file waives, and no other.
#pragma once

#include "drive/campaign.hpp"
#include "loop/session.hpp"
#include "loop/try.hpp"

#include <string>
#include <vector>

namespace ako::drive {

/// Gives the request the waivers of the campaign's file. Kind usage when a gate is closed that the
/// answer alone could have opened, refused for any other that is not waived.
base::Status open_gates(const loop::Session& session, const Campaign& campaign,
                        loop::TryRequest& request);

/// Guides that are required now and were not shown: what a candidate holds decides on some of them.
/// None where the campaign waives reading, or where it is not known: the gate says so.
std::vector<std::string> not_yet_shown(const loop::Session& session, const Campaign& campaign);

/// What the agent of `from` was shown of that which `to` requires now goes on record there: the
/// same guides, as they are.
base::Status carry_reading(const loop::Session& from, const loop::Session& to);

} // namespace ako::drive
