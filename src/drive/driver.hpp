// One campaign on one task: turn after turn, from wherever the record says it stands.
//
// A turn: prompt -> the agent's command, confined -> edits outside undone -> snapshot -> `ako try`
// -> what came of it, on record. Each arrow is an event in the ledger; a kill between any two loses
// at most the turn in flight, which is run again.
#pragma once

#include "drive/evaluator.hpp"
#include "drive/state.hpp"

namespace ako::drive {

struct DriveRequest {
  Campaign campaign;
  AgentSpec agent;     ///< the one that works here
  std::string setting; ///< of several; empty otherwise
  std::string record_name() const {
    return setting.empty() ? campaign.name : campaign.name + "/" + setting;
  }
};

struct Driven {
  State state;
  ledger::Standing standing;
  bool landlock = false; ///< false: edits outside were found by comparison alone
  bool alone = false;    ///< false: what outlives a killed driver is found by its token alone
};

/// Runs the campaign until one of its conditions ends it. Kind interrupted when the user stopped
/// it, refused when another driver works on the task or a gate is closed that the campaign does not
/// waive, stale when a guarded thing was destroyed; after each of them it can be run again.
base::Expected<Driven> drive(const loop::Session& session, const DriveRequest& request,
                             Evaluator& evaluator);

/// Before a session is opened: what a turn did that a killed driver left open is undone, so that
/// the task can be opened at all, and sources that are gone are there again. Nothing where no turn
/// is open, or where its driver lives. `dir`: the task's folder; `record`:
/// DriveRequest::record_name().
base::Status undo_open_turn(const base::fs::path& dir, const std::string& record);

/// The sources that solution/ holds when nothing is being tried.
base::Expected<model::Sources> standing_sources(const loop::Session& session);

} // namespace ako::drive
