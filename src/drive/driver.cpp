#include "drive/driver_run.hpp"

#include "base/log.hpp"
#include "base/time.hpp"
#include "base/unfinished.hpp"
#include "drive/alone.hpp"
#include "drive/confine.hpp"
#include "drive/leftovers.hpp"
#include "loop/interrupt.hpp"
#include "loop/state.hpp"
#include "workspace/listing.hpp"
#include "workspace/revert.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <utility>

namespace ako::drive {

using base::ErrorKind;
using base::Expected;
using base::Json;
using base::Status;
namespace fs = base::fs;

fs::path home_of(const fs::path& records, std::string name) {
  std::replace(name.begin(), name.end(), '/', '+');
  return records / "campaign" / name;
}

fs::path with_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  if (path.rfind("~/", 0) == 0 && home != nullptr) return fs::path(home) / path.substr(2);
  return path;
}

namespace {

/// The sources with which the turn began, where a regular file is missing. What stands in the way
/// is moved to `away`.
Status put_missing(const workspace::Workdir& workdir, const fs::path& away) {
  auto start = workspace::read_snapshot(workdir, k_start);
  if (!start) return {}; // opening the task says what is missing
  for (const model::SourceText& text : start->texts) {
    fs::path at = workdir.task();
    std::error_code why;
    for (const fs::path& part : fs::path(text.path)) {
      at /= part;
      const auto type = fs::symlink_status(at, why).type();
      const auto wanted =
          at == workdir.task() / text.path ? fs::file_type::regular : fs::file_type::directory;
      if (type == wanted || type == fs::file_type::not_found) continue;
      AKO_TRY_STATUS(base::make_dirs(away));
      fs::rename(at, away / fmt::format("{}-{}", part.string(), base::wall_ns()), why);
    }
    if (!fs::exists(at, why)) AKO_TRY_STATUS(base::write_file_atomic(at, text.content));
  }
  return {};
}

} // namespace

Driver::Driver(const loop::Session& session, const DriveRequest& request, Evaluator& evaluator)
    : m_session(session), m_request(request), m_campaign(request.campaign), m_evaluator(evaluator),
      m_adapter(adapter_for(request.agent.command)),
      m_landlock(request.campaign.confine == Confine::automatic && landlock_version() > 0) {}

Expected<Driven> Driver::run() {
  AKO_TRY(const fs::path records, m_session.workdir().records());
  m_home = home_of(records, m_request.record_name());
  AKO_TRY_STATUS(base::make_dirs(m_home));
  AKO_TRY(const base::FileLock lock, only_driver(records));
  for (const fs::path& store : {m_home / "guard", m_home / "guard" / "blobs"})
    base::sweep_unfinished(store);
  AKO_TRY_STATUS(reload());
  list_free();
  AKO_TRY_STATUS(check_file());
  AKO_TRY_STATUS(recover());
  AKO_TRY_STATUS(begin());
  while (m_state.phase != Phase::stopped) {
    if (loop::interrupted()) return stopped_by_user();
    AKO_TRY(const ledger::Standing standing, m_session.standing());
    if (const std::string why = reason_to_stop(m_campaign, m_state, standing); !why.empty()) {
      AKO_TRY_STATUS(stop(why));
      continue;
    }
    if (const CampaignLane* lane = due_lane(m_campaign, m_state, standing)) {
      AKO_TRY_STATUS(begin_lane(*lane, standing));
      continue;
    }
    AKO_TRY_STATUS(turn(standing));
  }
  Driven out;
  out.state = m_state;
  out.landlock = m_landlock;
  out.alone = can_be_alone();
  AKO_TRY(out.standing, m_session.standing());
  return out;
}

Status Driver::stop(const std::string& why) {
  // A candidate that waits for its guides has nobody to wait for.
  if (!m_state.unjudged.candidate.empty()) AKO_TRY_STATUS(put_standing());
  return append("stopped", m_state.turn, {{"reason", why}});
}

Status Driver::check_file() const {
  std::error_code why;
  const fs::path file = fs::weakly_canonical(m_campaign.file, why);
  std::vector<fs::path> free = m_free;
  for (const std::vector<std::string>* list :
       {&std::as_const(m_adapter.own_folders), &m_request.agent.also_writable})
    for (const std::string& path : *list) free.push_back(with_home(path));
  for (const fs::path& each : free) {
    const fs::path folder = fs::weakly_canonical(each, why);
    const auto ends = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
    if (folder.empty() || ends.first != folder.end()) continue;
    return base::fail(ErrorKind::refused, "the agent may write the campaign's own file",
                      {.where = file.string(),
                       .found = "it lies in " + folder.string() + ", which the agent may write",
                       .allowed = "a file outside of agent.writable and agent.also_writable",
                       .next = "move it out of there, and name it with --campaign"});
  }
  return {};
}

Expected<base::FileLock> Driver::only_driver(const fs::path& records) {
  auto lock = base::FileLock::take(records / "campaign.lock", base::FileLock::Wait::no);
  if (lock || lock.error().kind != ErrorKind::refused) return lock;
  return base::fail(ErrorKind::refused, "a campaign runs on this task already",
                    {.where = m_session.workdir().task().string(),
                     .found = lock.error().found,
                     .allowed = "one at a time; several agents are settings of one campaign",
                     .next = "wait for it, or end that process"});
}

tl::unexpected<base::Error> Driver::stopped_by_user() const {
  return base::fail(ErrorKind::interrupted, "stopped; everything so far is on record",
                    {.where = "campaign " + m_request.record_name(),
                     .found = fmt::format("{} turns", m_state.turn),
                     .allowed = {},
                     .next = "run the same command again to go on"});
}

void Driver::list_free() {
  m_free.clear();
  m_free_names = m_request.agent.writable;
  // Where a campaign leads an agent, there it may write.
  const std::string& entry = m_session.contract().kernel.entry.file;
  if (!m_free_names.empty() && m_state.lanes_taken > 0) m_free_names.push_back(entry);
  if (m_free_names.empty()) {
    m_free_names = {"solution"};
    const auto& kernel = m_session.contract().kernel;
    std::vector<std::string> sources = kernel.sources;
    sources.push_back(kernel.entry.file);
    for (const std::string& source : sources)
      if (source.rfind("solution/", 0) != 0) m_free_names.push_back(source);
  }
  for (const std::string& name : m_free_names)
    m_free.push_back((m_session.workdir().task() / name).lexically_normal());
}

// --- the record ---

Status Driver::reload() {
  m_state = State{};
  AKO_TRY(const ledger::Standing standing, m_session.standing());
  if (standing.events == 0) return {};
  AKO_TRY(ledger::Reader reader, m_session.reader());
  AKO_TRY(m_state, state_of(reader, m_request.record_name()));
  return {};
}

Status Driver::append(const char* step, std::int64_t turn, Json data,
                      std::vector<ledger::Attachment> blobs) {
  const ledger::Campaign event{m_request.record_name(), step, turn, std::move(data)};
  AKO_TRY(ledger::Writer writer, m_session.writer());
  AKO_TRY(const ledger::Appended appended, writer.append(event, std::move(blobs)));
  return apply(m_state, event, appended.seq);
}

// --- beginning and going on ---

Expected<Spent> Driver::prepare() {
  if (!m_campaign.prepare) return Spent{};
  return m_evaluator.prepare(m_session);
}

Status Driver::begin() {
  if (m_state.phase == Phase::stopped) {
    AKO_TRY(const ledger::Standing standing, m_session.standing());
    State again = m_state;
    again.idle_in_a_row = again.failures_in_a_row = again.lost_in_a_row = 0;
    if (!reason_to_stop(m_campaign, again, standing).empty()) return {}; // it stays stopped
  }
  AKO_TRY_STATUS(note_file());
  AKO_TRY_STATUS(check_lanes());
  AKO_TRY(const Spent spent, prepare());
  if (m_state.phase != Phase::ready) AKO_TRY_STATUS(note_begun());
  if (spent.seconds > 0)
    AKO_TRY_STATUS(append("prepared", m_state.turn,
                          {{"seconds", base::number_or_null(spent.seconds)},
                           {"device_seconds", base::number_or_null(spent.device_seconds)}}));
  return say_confinement();
}

Status Driver::note_file() {
  // What has not begun has used nothing yet.
  if (m_state.phase == Phase::new_ || m_state.file == m_campaign.hash) return {};
  base::info("{} was edited since the campaign last went on: noted, and used from here on",
             m_campaign.file.filename().string());
  return note_begun();
}

Status Driver::note_begun() {
  AKO_TRY(const ledger::Standing standing, m_session.standing());
  return append("begun", m_state.turn,
                {{"hash", m_campaign.hash},
                 {"agent", m_request.agent.command},
                 {"landlock", m_landlock},
                 {"writable", m_free_names},
                 {"inherited", standing.iterations}});
}

Status Driver::say_confinement() {
  if (!m_landlock)
    base::info("the agent is not confined by Landlock ({}); edits outside its paths are found by "
               "comparison and undone",
               m_campaign.confine == Confine::comparison ? "the campaign says so"
                                                         : "this kernel has none");
  return {};
}

GuardPlan Driver::guard_plan() const {
  return {m_session.workdir(), m_free, m_home / "guard",
          m_home / "undone" / fmt::format("turn-{}", m_state.turn), m_state.token};
}

Status Driver::recover() {
  // The record itself may be what the agent spoilt: undone first, noted then.
  if (m_state.phase == Phase::agent_runs) return undo_killed_turn();
  if (m_state.phase != Phase::changes_lane && m_state.phase != Phase::answered) return {};
  AKO_TRY_STATUS(note_file());
  if (m_state.phase == Phase::changes_lane) return change_lane();
  AKO_TRY(ledger::Reader reader, m_session.reader());
  AKO_TRY(const auto row, reader.with_snapshot(m_state.answer.candidate));
  const bool judged = !m_state.answer.candidate.empty() && row &&
                      row->event > m_state.answer.event && !machines_fault(row->outcome);
  if (judged) return settle(reader, *row);
  if (m_state.answer.changed && !m_state.answer.candidate.empty())
    AKO_TRY_STATUS(put_kept(k_answer, m_state.answer.candidate));
  return judge();
}

Status Driver::undo_killed_turn() {
  AKO_TRY_STATUS(end_leftovers(m_state.token).map([](int) {}));
  AKO_TRY(const auto guard, Guard::load(guard_plan()));
  if (guard) {
    AKO_TRY(const std::vector<Change> changes, guard->undo());
    for (const Change& change : changes) base::info("undone: {}", to_text(change));
    // The picture may be older than the event that the state was read from.
    AKO_TRY_STATUS(reload());
  }
  if (m_state.phase != Phase::agent_runs) {
    if (guard) AKO_TRY_STATUS(guard->close());
    return recover();
  }
  AKO_TRY_STATUS(put_kept(k_start, m_state.solution));
  if (guard) AKO_TRY_STATUS(guard->close());
  AKO_TRY_STATUS(note_file());
  // Nobody saw it end; longer than its deadline it cannot have run.
  const double since =
      m_state.began_ns > 0 ? static_cast<double>(base::wall_ns() - m_state.began_ns) / 1e9 : 0;
  return lose("the driver was ended during the turn",
              std::clamp(since, 0.0, m_state.deadline_seconds), false,
              bill_for(printed_in(m_home / k_printed)));
}

Status Driver::lose(const std::string& why, double seconds, bool by_user, const Bill& bill) {
  return append("lost", m_state.turn,
                {{"why", why},
                 {"by_user", by_user},
                 {"seconds", base::number_or_null(seconds)},
                 {"money", bill.money ? base::number_or_null(*bill.money) : Json()},
                 {"money_printed", bill.printed},
                 {"money_note", bill.note}});
}

Status Driver::settle(ledger::Reader& reader, const ledger::IterationRow& row) {
  AKO_TRY(const auto recorded, reader.iteration(row.number));
  const bool built = row.outcome != model::OutcomeKind::timeout ||
                     (recorded && recorded->payload.artifact.has_value());
  const bool goes_back =
      row.decision == model::Decision::revert && loop::makes_way(row.outcome, built);
  if (goes_back) AKO_TRY_STATUS(put_standing());
  else AKO_TRY_STATUS(put_kept(k_answer, m_state.answer.candidate));
  AKO_TRY(const ledger::Standing standing, reader.standing());
  const double seconds = recorded ? recorded->payload.seconds : 0;
  return append("tried", m_state.turn,
                {{"iteration", row.number},
                 {"outcome", model::to_string(row.outcome)},
                 {"decision", model::to_string(row.decision)},
                 {"seconds", base::number_or_null(seconds)},
                 {"device_seconds", base::number_or_null(seconds)},
                 {"stalled", standing.stall_event.value_or(0) > m_state.answer.event}});
}

// --- the files of the candidate ---

Status Driver::move_away(const fs::path& path) {
  const fs::path away =
      m_home / "undone" / fmt::format("{}-{}", path.filename().string(), base::wall_ns());
  AKO_TRY_STATUS(base::make_dirs(away.parent_path()));
  std::error_code why;
  fs::rename(path, away, why);
  if (!why) return {};
  return base::fail(ErrorKind::io,
                    "what stands where the candidate belongs could not be moved away",
                    {.where = path.string(),
                     .found = why.message(),
                     .allowed = "a folder that can be written",
                     .next = "move it away, then run the same command again"});
}

Expected<bool> Driver::clear_way() {
  const fs::path solution = m_session.workdir().solution();
  std::error_code why;
  const auto type = fs::symlink_status(solution, why).type();
  const bool foreign = type != fs::file_type::directory && type != fs::file_type::not_found;
  if (foreign) {
    AKO_TRY_STATUS(move_away(solution));
    AKO_TRY_STATUS(base::make_dirs(solution));
  } else if (type == fs::file_type::directory) {
    fs::permissions(solution, fs::perms::owner_all, fs::perm_options::add, why);
  }
  return foreign;
}

Status Driver::put_sources(const model::Sources& sources) {
  AKO_TRY_STATUS(clear_way().map([](bool) {}));
  auto restored =
      workspace::restore_sources(m_session.workdir(), m_session.contract(), sources, k_undone);
  if (restored) return {};
  // What stands there is nothing that a snapshot takes: it is moved away whole.
  const fs::path task = m_session.workdir().task();
  std::error_code why;
  if (fs::exists(m_session.workdir().solution(), why))
    AKO_TRY_STATUS(move_away(m_session.workdir().solution()));
  AKO_TRY_STATUS(base::make_dirs(m_session.workdir().solution()));
  for (const model::SourceText& text : sources.texts) {
    const auto type = fs::symlink_status(task / text.path, why).type();
    if (type != fs::file_type::not_found) AKO_TRY_STATUS(move_away(task / text.path));
  }
  return workspace::restore_sources(m_session.workdir(), m_session.contract(), sources, k_undone)
      .map([](const auto&) {});
}

Expected<model::Sources> Driver::kept(const char* name, const base::Hash& hash) const {
  AKO_TRY(model::Sources out, workspace::read_snapshot(m_session.workdir(), name));
  if (out.snapshot.hash == hash) return out;
  return base::fail(ErrorKind::stale, "the kept sources are not those on record",
                    {.where = name,
                     .found = out.snapshot.hash.substr(0, 12),
                     .allowed = hash.substr(0, 12),
                     .next = "ako verify"});
}

Status Driver::put_kept(const char* name, const base::Hash& hash) {
  AKO_TRY(const model::Sources sources, kept(name, hash));
  return put_sources(sources);
}

Status Driver::put_standing() {
  AKO_TRY(const model::Sources sources, standing_sources(m_session));
  return put_sources(sources);
}

Expected<model::Sources> standing_sources(const loop::Session& session) {
  AKO_TRY(const loop::Incumbent incumbent, loop::incumbent_of(session));
  return loop::standing_sources(session, incumbent);
}

namespace {

/// Where the turn lies that a driver left open on this task; empty = nowhere. By its own word, not
/// by the name of the task's records: the agent may have changed that.
fs::path open_home(const workspace::Workdir& workdir, const fs::path& all,
                   const std::string& record) {
  std::error_code why;
  Guard::unlock_folders(all);
  for (fs::directory_iterator walk(all, why), end; !why && walk != end; walk.increment(why)) {
    const fs::path home = home_of(walk->path(), record);
    Guard::unlock_folders(home / "guard");
    if (Guard::open_turn(home / "guard").empty()) continue;
    const std::string task = Guard::task_of(home / "guard");
    if (task.empty() || task == workdir.task()) return home;
  }
  return {};
}

} // namespace

Status undo_open_turn(const fs::path& dir, const std::string& record) {
  // The agent may have taken task.toml away, by which a task is found.
  auto found = workspace::Workdir::find(dir);
  if (!found) found = workspace::Workdir::at(dir);
  if (!found) return {};
  const auto place = found->git();
  std::error_code why;
  if (!place || !fs::exists(place->common_dir / "ako", why)) return {};
  const fs::path home = open_home(*found, place->common_dir / "ako", record);
  if (home.empty()) return {};
  const fs::path records = home.parent_path().parent_path();
  const auto lock = base::FileLock::take(records / "campaign.lock", base::FileLock::Wait::no);
  if (!lock) return {}; // its driver lives
  AKO_TRY_STATUS(end_leftovers(Guard::open_turn(home / "guard")).map([](int) {}));
  AKO_TRY(const std::vector<Change> changes, Guard::undo_open(*found, home / "guard"));
  for (const Change& change : changes) base::info("undone: {}", to_text(change));
  return put_missing(*found, home / "undone");
}

Expected<Driven> drive(const loop::Session& session, const DriveRequest& request,
                       Evaluator& evaluator) {
  return Driver(session, request, evaluator).run();
}

} // namespace ako::drive
