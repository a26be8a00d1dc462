// Where a campaign stands: a fold over its events. Pure.
//
//   begun     {"hash", "agent", "landlock", "inherited"}
//   prepared  {"seconds", "device_seconds"}               a proof, a baseline or a first look
//   turn      {"token", "solution"}                       the agent is about to run
//   answered  {"how", "seconds", "money", "hypothesis", ..., "changed", "candidate", "outside"}
//   tried     {"iteration", "outcome", "decision", "device_seconds", "seconds", "text", ...}
//                                                         of all attempts from "first_iteration" on
//           | {"refused", "seconds", "unread"}            there was nothing to judge, or guides
//           that
//                                                         the candidate asks for were not shown yet
//   lost      {"why", "seconds", "money", "by_user"}      a turn that was killed: it is run again
//   lane      {"lane", "file", "symbol", "flags", "why", "sources", "contract"}
//                                                         a stall: the lane is being changed
//   laned     {"text", "seconds", "device_seconds"}       it is changed, and proven there
//   stopped   {"reason"}
//   settings  {"turns", "agent_seconds", "wall_seconds", "device_seconds", "money"}
//                                                         what several have spent so far, together
//   contender {"setting", "snapshot", "iteration", ...}   best of several, measured again
#pragma once

#include "drive/campaign.hpp"
#include "ledger/queries.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::drive {

enum class Phase { new_, ready, agent_runs, answered, changes_lane, stopped };

struct AnswerRecord {
  std::int64_t event = 0;
  std::string how; ///< "ended", "failed", "timeout"
  std::string hypothesis, prediction, cites, direction, done;
  std::optional<double> predicted_gain;
  bool changed = false;
  base::Hash candidate;             ///< snapshot; empty when nothing can be judged
  std::string trouble;              ///< why it cannot
  std::vector<std::string> outside; ///< edits that were undone
  bool direction_taken = false;     ///< the campaign's next direction was set for it
};

struct LaneRecord {
  std::int64_t event = 0;
  CampaignLane to;
  std::string why;
  base::Hash sources;  ///< snapshot that solution/ begins with there
  base::Hash contract; ///< attachment: task.toml as it was before
};

struct State {
  Phase phase = Phase::new_;
  std::int64_t turn = 0;       ///< of the last turn begun
  std::string token;           ///< of that turn
  base::Hash solution;         ///< what stood in solution/ when it began
  std::int64_t began_ns = 0;   ///< wall clock, of that turn
  double deadline_seconds = 0; ///< of that turn
  AnswerRecord answer;         ///< of the last answered one
  LaneRecord lane;             ///< the last change of lane
  std::string feedback;        ///< how that ended, for the next prompt
  AnswerRecord unjudged;       ///< whose candidate stands there and waits for guides to be shown
  double wall_seconds = 0, device_seconds = 0, money = 0;
  double dearest_turn = 0;        ///< of those that printed what they cost
  std::int64_t idle_in_a_row = 0; ///< turns of which nothing was judged
  std::int64_t failures_in_a_row = 0, lost_in_a_row = 0, stalls = 0, directions_taken = 0;
  std::int64_t lanes_taken = 0;
  std::int64_t inherited = 0; ///< iterations on record before the campaign
  base::Hash file;            ///< of campaign.toml as it was last begun
  std::string stopped;
  std::vector<std::string> contenders; ///< "SETTING SNAPSHOT": bests that were measured again
};

/// Applies one event; those of other campaigns are to be left out by the caller.
base::Status apply(State& state, const ledger::Campaign& step, std::int64_t event);
base::Expected<State> state_of(ledger::Reader& reader, const std::string& campaign);

/// Why no further turn is due; empty = go on.
std::string reason_to_stop(const Campaign& campaign, const State& state,
                           const ledger::Standing& standing);

/// The lane that a stall leads to now; nothing where there is none, or a direction comes first.
const CampaignLane* due_lane(const Campaign& campaign, const State& state,
                             const ledger::Standing& standing);

/// Seconds that the next turn may take.
double turn_seconds(const AgentSpec& agent, const Budget& budget, const State& state);

/// What is left, one line a limit.
std::string remaining_text(const Budget& budget, const State& state);

} // namespace ako::drive
