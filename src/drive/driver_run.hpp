// One run of a driver, step by step. Beginning, going on and the candidate's files are in
// driver.cpp; a turn and what is judged of it in driver_turn.cpp; a change of lane in
// driver_lane.cpp. Of this room alone.
#pragma once

#include "drive/agent.hpp"
#include "drive/driver.hpp"
#include "drive/guard.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::drive {

/// Names of kept snapshots: what a turn began with, what it ended with, what was put aside, and
/// what a new lane begins with.
constexpr const char *k_start = "campaign-start", *k_answer = "campaign-answer",
                     *k_undone = "campaign-undone", *k_lane = "campaign-lane";
constexpr const char* k_printed = "printed";

/// Where a campaign keeps its pictures and what it undid.
base::fs::path home_of(const base::fs::path& records, std::string name);
/// `~/` at the front is the person's home.
base::fs::path with_home(const std::string& path);

/// What a turn cost, as far as it said so.
struct Bill {
  std::optional<double> money; ///< nothing: it is not known where it would be printed
  bool printed = false;
  std::string note; ///< how it was billed, when it was not printed
};

class Driver {
public:
  Driver(const loop::Session& session, const DriveRequest& request, Evaluator& evaluator);
  base::Expected<Driven> run();

private:
  /// An agent that can write the campaign's file gives itself budgets and waivers.
  base::Status check_file() const;
  base::Expected<base::FileLock> only_driver(const base::fs::path& records);
  tl::unexpected<base::Error> stopped_by_user() const;
  /// What the agent may write: task-relative in m_free_names, absolute in m_free.
  void list_free();

  // The record.
  base::Status reload();
  base::Status append(const char* step, std::int64_t turn, base::Json data,
                      std::vector<ledger::Attachment> blobs = {});

  // Beginning and going on.
  base::Status begin();
  /// A file that was edited since it was last on record is put there, before anything of it is
  /// used.
  base::Status note_file();
  base::Status note_begun();
  base::Status say_confinement();
  /// Nothing spent where the campaign does not ask for it.
  base::Expected<Spent> prepare();
  base::Status stop(const std::string& why);
  GuardPlan guard_plan() const;
  base::Status recover();
  base::Status undo_killed_turn();
  /// A turn that came to no answer: it is paid for, and run again.
  base::Status lose(const std::string& why, double seconds, bool by_user, const Bill& bill);
  /// The verdict is on record, the driver was killed before it could say so.
  base::Status settle(ledger::Reader& reader, const ledger::IterationRow& row);

  // The files of the candidate.
  /// What stands where solution/ belongs and is no folder is moved away: a link itself, never what
  /// it leads to. Whether there was anything.
  base::Expected<bool> clear_way();
  base::Status move_away(const base::fs::path& path);
  base::Status put_sources(const model::Sources& sources);
  base::Expected<model::Sources> kept(const char* name, const base::Hash& hash) const;
  base::Status put_kept(const char* name, const base::Hash& hash);
  base::Status put_standing();

  // Another lane at a stall.
  tl::unexpected<base::Error> no_lane(const CampaignLane& lane, std::string message,
                                      std::string found, std::string allowed) const;
  /// Said at the beginning of a campaign, not in the middle of its night.
  base::Status check_lanes() const;
  /// What solution/ holds in the new lane: its first version alone. What is the candidate's outside
  /// solution/ stays.
  base::Expected<model::Sources> first_version(const CampaignLane& lane);
  base::Status begin_lane(const CampaignLane& lane, const ledger::Standing& standing);
  /// From any point at which a driver was killed: until the change is on record it is done anew.
  base::Status change_lane();

  // A turn.
  /// The direction that the campaign sets for the coming turn; nothing unless there is a stall.
  std::string due_direction(const ledger::Standing& standing) const;
  base::Expected<Turn> lay_out(const ledger::Standing& standing, const base::fs::path& scratch);
  base::Expected<model::Sources> keep_start();
  /// What the task requires to be read is laid beside the agent and put on record as shown.
  base::Status give_reading(const base::fs::path& scratch);
  base::Status turn(const ledger::Standing& standing);
  Bill bill_for(const Printed& printed) const;
  /// What the agent said; of a candidate that waited and was left as it is, what was said of it.
  Said said_of(const Printed& printed, bool waited) const;
  base::Status record_answer(const Turn& laid, const Heard& heard,
                             const std::vector<Change>& changes, const model::Sources& start,
                             const std::string& direction);

  // Judging.
  base::Status refuse(const std::string& why, double seconds = 0);
  /// Nothing is judged before what it asks for was shown: the files stay, the next turn has it.
  base::Status wait_for_reading(const std::vector<std::string>& guides);
  base::Expected<loop::TryRequest> request_of_answer(const ledger::Standing& standing);
  base::Status judge();
  base::Status record_verdict(const Evaluated& result);

  loop::Session m_session; ///< opened again when the lane is changed
  const DriveRequest& m_request;
  const Campaign& m_campaign;
  Evaluator& m_evaluator;
  Adapter m_adapter;
  bool m_landlock;
  base::fs::path m_home;
  std::vector<std::string> m_free_names;
  std::vector<base::fs::path> m_free;
  State m_state;
  std::optional<Guard> m_guard;
};

} // namespace ako::drive
