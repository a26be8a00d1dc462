// Which lane a kernel is written in: reasons for and against each, and changing it on purpose.
#pragma once

#include "loop/session.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

struct LaneFacts {
  const model::Contract* contract = nullptr;
  std::vector<model::Lane> built;  ///< lanes that this ako has
  std::vector<model::Lane> usable; ///< whose tools and device are there
  std::string architecture;        ///< "sm_90"; empty = no device
  bool python_callers = false, native_callers = false;
  std::int64_t not_better_in_a_row = 0; ///< in the contract's lane
  bool rejected_in_target = false;      ///< the incumbent's port was rejected
};

struct LaneSuggestion {
  model::Lane lane = model::Lane::cpu;
  int weight = 0; ///< reasons for, less reasons against
  bool usable = false;
  std::vector<std::string> reasons_for, reasons_against;
};

/// All lanes, the most fitting first. Pure.
std::vector<LaneSuggestion> suggest_lanes(const LaneFacts& facts);
base::Expected<LaneFacts> lane_facts(const Session& session);

/// Name of the kept sources from which a lane began: "lane-cuda".
std::string lane_start_name(model::Lane lane);

struct LaneSwitch {
  model::Lane lane = model::Lane::cpu;
  model::EntryRef entry;          ///< of the new lane; its file is there
  std::vector<std::string> flags; ///< empty = the new lane's defaults
  std::string why;
};

/// task.toml with another [kernel] lane, entry and flags; what rested on the old defaults (lane of
/// reference and baselines, their flags) is spelled out. Everything else stays as it is written.
base::Expected<std::string> switched_contract(const std::string& toml, const model::Contract& old,
                                              const LaneSwitch& change);

/// Record, incumbent and numbers stay; the old lane's incumbent is what the new lane has to beat.
/// `ako check` and `ako baseline` are due after it. Kind usage when it is the lane already.
base::Status switch_lane(const Session& session, const LaneSwitch& change);

} // namespace ako::loop
