#include "drive/driver.hpp"

#include "base/log.hpp"
#include "base/unfinished.hpp"
#include "drive/agent.hpp"
#include "drive/confine.hpp"
#include "drive/guard.hpp"
#include "drive/prompt.hpp"
#include "loop/interrupt.hpp"
#include "loop/lane.hpp"
#include "loop/reading.hpp"
#include "loop/state.hpp"
#include "workspace/listing.hpp"
#include "workspace/revert.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/random.h>
#include <utility>

namespace ako::drive {

using base::ErrorKind;
using base::Expected;
using base::Json;
using base::Status;
namespace fs = base::fs;

namespace {

constexpr std::size_t k_output_on_record = 64u << 10;
constexpr const char *k_start = "campaign-start", *k_answer = "campaign-answer",
                     *k_undone = "campaign-undone", *k_lane = "campaign-lane";

std::string draw_token() {
  unsigned char bytes[16] = {};
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    return base::sha256(std::to_string(base::wall_ns()));
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

fs::path with_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  if (path.rfind("~/", 0) == 0 && home != nullptr) return fs::path(home) / path.substr(2);
  return path;
}

bool is_the_agents(const std::string& gate) { return gate == "direction" || gate == "citation"; }

/// Nothing to judge, by the agent's own doing.
bool agents_fault(ErrorKind kind) { return kind == ErrorKind::invalid || kind == ErrorKind::usage; }

/// Where a campaign keeps its pictures and what it undid.
fs::path home_of(const fs::path& records, std::string name) {
  std::replace(name.begin(), name.end(), '/', '+');
  return records / "campaign" / name;
}

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

class Driver {
public:
  Driver(const loop::Session& session, const DriveRequest& request, Evaluator& evaluator)
      : m_session(session), m_request(request), m_campaign(request.campaign),
        m_evaluator(evaluator), m_adapter(adapter_for(request.agent.command)),
        m_landlock(request.campaign.confine == Confine::automatic && landlock_version() > 0) {}

  Expected<Driven> run() {
    AKO_TRY(const fs::path records, m_session.workdir().records());
    m_home = home_of(records, m_request.record_name());
    AKO_TRY_STATUS(base::make_dirs(m_home));
    AKO_TRY(const base::FileLock lock, only_driver(records));
    for (const fs::path& store : {m_home / "guard", m_home / "guard" / "blobs"})
      base::sweep_unfinished(store);
    AKO_TRY_STATUS(reload());
    list_free();
    AKO_TRY_STATUS(recover());
    AKO_TRY_STATUS(begin());
    while (m_state.phase != Phase::stopped) {
      if (loop::interrupted()) return stopped_by_user();
      AKO_TRY(const ledger::Standing standing, m_session.standing());
      if (const std::string why = reason_to_stop(m_campaign, m_state, standing); !why.empty()) {
        AKO_TRY_STATUS(append("stopped", m_state.turn, {{"reason", why}}));
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
    AKO_TRY(out.standing, m_session.standing());
    return out;
  }

private:
  Expected<base::FileLock> only_driver(const fs::path& records) {
    auto lock = base::FileLock::take(records / "campaign.lock", base::FileLock::Wait::no);
    if (lock || lock.error().kind != ErrorKind::refused) return lock;
    return base::fail(ErrorKind::refused, "a campaign runs on this task already",
                      {.where = m_session.workdir().task().string(),
                       .found = lock.error().found,
                       .allowed = "one at a time; several agents are settings of one campaign",
                       .next = "wait for it, or end that process"});
  }

  tl::unexpected<base::Error> stopped_by_user() const {
    return base::fail(ErrorKind::interrupted, "stopped; everything so far is on record",
                      {.where = "campaign " + m_request.record_name(),
                       .found = fmt::format("{} turns", m_state.turn),
                       .allowed = {},
                       .next = "run the same command again to go on"});
  }

  /// What the agent may write: task-relative in m_free_names, absolute in m_free.
  void list_free() {
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

  Status reload() {
    m_state = State{};
    AKO_TRY(const ledger::Standing standing, m_session.standing());
    if (standing.events == 0) return {};
    AKO_TRY(ledger::Reader reader, m_session.reader());
    AKO_TRY(m_state, state_of(reader, m_request.record_name()));
    return {};
  }

  Status append(const char* step, std::int64_t turn, Json data,
                std::vector<ledger::Attachment> blobs = {}) {
    const ledger::Campaign event{m_request.record_name(), step, turn, std::move(data)};
    AKO_TRY(ledger::Writer writer, m_session.writer());
    AKO_TRY(const ledger::Appended appended, writer.append(event, std::move(blobs)));
    return apply(m_state, event, appended.seq);
  }

  // --- beginning and going on ---

  Status begin() {
    if (m_state.phase == Phase::stopped) {
      AKO_TRY(const ledger::Standing standing, m_session.standing());
      State again = m_state;
      again.idle_in_a_row = again.failures_in_a_row = 0;
      if (!reason_to_stop(m_campaign, again, standing).empty()) return {}; // it stays stopped
    }
    AKO_TRY_STATUS(check_lanes());
    if (m_campaign.prepare) AKO_TRY_STATUS(m_evaluator.prepare(m_session));
    if (m_state.phase == Phase::ready) return say_confinement();
    AKO_TRY(const ledger::Standing standing, m_session.standing());
    AKO_TRY_STATUS(append("begun", m_state.turn,
                          {{"hash", m_campaign.hash},
                           {"agent", m_request.agent.command},
                           {"landlock", m_landlock},
                           {"writable", m_free_names},
                           {"inherited", standing.iterations}}));
    return say_confinement();
  }

  Status say_confinement() {
    if (!m_landlock)
      base::info("the agent is not confined by Landlock ({}); edits outside its paths are found by "
                 "comparison and undone",
                 m_campaign.confine == Confine::comparison ? "the campaign says so"
                                                           : "this kernel has none");
    return {};
  }

  GuardPlan guard_plan() const {
    return {m_session.workdir(), m_free, m_home / "guard",
            m_home / "undone" / fmt::format("turn-{}", m_state.turn), m_state.token};
  }

  Status recover() {
    if (m_state.phase == Phase::changes_lane) return change_lane();
    if (m_state.phase == Phase::agent_runs) {
      end_leftovers(m_state.token);
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
      return append("lost", m_state.turn, {{"why", "the driver was ended during the turn"}});
    }
    if (m_state.phase != Phase::answered) return {};
    AKO_TRY(ledger::Reader reader, m_session.reader());
    AKO_TRY(const auto row, reader.with_snapshot(m_state.answer.candidate));
    const bool judged = !m_state.answer.candidate.empty() && row &&
                        row->event > m_state.answer.event && !machines_fault(row->outcome);
    if (judged) return settle(reader, *row);
    if (m_state.answer.changed && !m_state.answer.candidate.empty())
      AKO_TRY_STATUS(put_kept(k_answer, m_state.answer.candidate));
    return judge();
  }

  /// The verdict is on record, the driver was killed before it could say so.
  Status settle(ledger::Reader& reader, const ledger::IterationRow& row) {
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

  Status put_sources(const model::Sources& sources) {
    auto restored =
        workspace::restore_sources(m_session.workdir(), m_session.contract(), sources, k_undone);
    if (restored) return {};
    // What stands there is nothing that a snapshot takes: it is moved away whole.
    const fs::path away = m_home / "undone" / fmt::format("solution-{}", base::wall_ns());
    AKO_TRY_STATUS(base::make_dirs(away));
    std::error_code why;
    for (fs::directory_iterator walk(m_session.workdir().solution(), why), end; !why && walk != end;
         walk.increment(why))
      fs::rename(walk->path(), away / walk->path().filename(), why);
    if (why) fs::remove_all(m_session.workdir().solution(), why);
    AKO_TRY_STATUS(base::make_dirs(m_session.workdir().solution()));
    return workspace::restore_sources(m_session.workdir(), m_session.contract(), sources, k_undone)
        .map([](const auto&) {});
  }

  Expected<model::Sources> kept(const char* name, const base::Hash& hash) const {
    AKO_TRY(model::Sources out, workspace::read_snapshot(m_session.workdir(), name));
    if (out.snapshot.hash == hash) return out;
    return base::fail(ErrorKind::stale, "the kept sources are not those on record",
                      {.where = name,
                       .found = out.snapshot.hash.substr(0, 12),
                       .allowed = hash.substr(0, 12),
                       .next = "ako verify"});
  }

  Status put_kept(const char* name, const base::Hash& hash) {
    AKO_TRY(const model::Sources sources, kept(name, hash));
    return put_sources(sources);
  }

  Status put_standing() {
    AKO_TRY(const model::Sources sources, standing_sources(m_session));
    return put_sources(sources);
  }

  // --- another lane at a stall ---

  static loop::LaneSwitch switch_to(const CampaignLane& lane, std::string why) {
    return {lane.lane, lane.entry, lane.flags, std::move(why)};
  }

  tl::unexpected<base::Error> no_lane(const CampaignLane& lane, std::string message,
                                      std::string found, std::string allowed) const {
    return base::fail(
        ErrorKind::invalid, std::move(message),
        {.where = fmt::format("{}: stall.lane \"{}\"", m_campaign.file.filename().string(),
                              model::to_string(lane.lane)),
         .found = std::move(found),
         .allowed = std::move(allowed),
         .next = "mend that lane, or leave it out"});
  }

  /// Said at the beginning of a campaign, not in the middle of its night.
  Status check_lanes() const {
    const auto first = static_cast<std::size_t>(m_state.lanes_taken);
    if (first >= m_campaign.lanes.size()) return {};
    AKO_TRY(const loop::LaneFacts facts, loop::lane_facts(m_session));
    AKO_TRY(const std::string toml, base::read_file(m_session.workdir().contract()));
    model::Lane before = m_session.contract().kernel.lane;
    for (std::size_t at = first; at < m_campaign.lanes.size(); ++at) {
      const CampaignLane& lane = m_campaign.lanes[at];
      const fs::path from = (m_session.workdir().task() / lane.from).lexically_normal();
      std::error_code why;
      if (lane.lane == before)
        return no_lane(lane, "the task is in this lane already by then", model::to_string(before),
                       "another lane than the one before it");
      if (!fs::is_regular_file(from, why))
        return no_lane(lane, "the first version of a lane is not there", lane.from,
                       "a file of the task");
      for (const fs::path& free : m_free)
        if (const auto ends = std::mismatch(free.begin(), free.end(), from.begin(), from.end());
            ends.first == free.end())
          return no_lane(lane, "the agent could edit the first version of a lane", lane.from,
                         "a file outside its paths, such as one below input/");
      if (std::find(facts.usable.begin(), facts.usable.end(), lane.lane) == facts.usable.end())
        return no_lane(lane, "this lane cannot be used here", "its compiler or device is missing",
                       "a lane that `ako lane suggest` calls usable");
      AKO_TRY_STATUS(loop::switched_contract(toml, m_session.contract(), switch_to(lane, ""))
                         .map([](const auto&) {}));
      before = lane.lane;
    }
    return {};
  }

  /// What solution/ holds in the new lane: its first version alone. What is the candidate's outside
  /// solution/ stays.
  Expected<model::Sources> first_version(const CampaignLane& lane) {
    AKO_TRY(const auto paths,
            workspace::candidate_paths(m_session.workdir(), m_session.contract()));
    AKO_TRY(const model::Sources now,
            workspace::collect(m_session.workdir(), paths, {}, workspace::Missing::allowed));
    std::vector<model::SourceText> texts;
    for (const model::SourceText& text : now.texts)
      if (text.path.rfind("solution/", 0) != 0) texts.push_back(text);
    AKO_TRY(std::string content, base::read_file(m_session.workdir().task() / lane.from));
    texts.push_back({lane.entry.file, std::move(content), false});
    return workspace::make_sources(std::move(texts));
  }

  Status begin_lane(const CampaignLane& lane, const ledger::Standing& standing) {
    AKO_TRY(const model::Sources first, first_version(lane));
    AKO_TRY_STATUS(
        workspace::keep_snapshot(m_session.workdir(), first, k_lane).map([](const auto&) {}));
    AKO_TRY(const std::string toml, base::read_file(m_session.workdir().contract()));
    AKO_TRY_STATUS(append(
        "lane", m_state.turn,
        {{"lane", model::to_string(lane.lane)},
         {"before", model::to_string(m_session.contract().kernel.lane)},
         {"file", lane.entry.file},
         {"symbol", lane.entry.symbol},
         {"flags", lane.flags},
         {"why", fmt::format("campaign {}: a stall after iteration {}, its directions used up",
                             m_campaign.name, standing.iterations)},
         {"sources", first.snapshot.hash},
         {"contract", base::sha256(toml)}},
        {{"contract", toml}}));
    return change_lane();
  }

  /// From any point at which a driver was killed: until the change is on record it is done anew.
  Status change_lane() {
    const LaneRecord to = m_state.lane;
    AKO_TRY(const model::Sources first, kept(k_lane, to.sources));
    const model::SourceText* entry = first.find(to.to.entry.file);
    AKO_CHECK(entry != nullptr, "the first version of a lane holds its entry");
    AKO_TRY(ledger::Reader reader, m_session.reader());
    AKO_TRY(const auto changed, reader.last<ledger::Direction>());
    if (!changed || changed->event.seq < to.event) {
      AKO_TRY(const std::string toml, reader.blob(to.contract));
      AKO_TRY(const std::string now, base::read_file(m_session.workdir().contract()));
      if (now != toml)
        AKO_TRY_STATUS(base::write_file_atomic(m_session.workdir().contract(), toml));
      AKO_TRY(m_session, m_session.again());
      // Beside what stands: at every moment the file that task.toml names is there.
      AKO_TRY_STATUS(
          base::write_file_atomic(m_session.workdir().task() / to.to.entry.file, entry->content));
      AKO_TRY_STATUS(loop::switch_lane(m_session, switch_to(to.to, to.why)));
    }
    base::info("{}: the task goes on in lane {}", to.why, model::to_string(to.to.lane));
    AKO_TRY(m_session, m_session.again());
    list_free();
    AKO_TRY_STATUS(
        workspace::keep_snapshot(m_session.workdir(), first, loop::lane_start_name(to.to.lane))
            .map([](const auto&) {}));
    AKO_TRY_STATUS(put_sources(first));
    if (m_campaign.prepare) AKO_TRY_STATUS(m_evaluator.prepare(m_session));
    return append("laned", m_state.turn,
                  {{"text", fmt::format("A stall: ako has changed the lane to {}. {} holds a first "
                                        "version there; what stands, in the lane before, is what "
                                        "it has to beat.\n",
                                        model::to_string(to.to.lane), to.to.entry.file)}});
  }

  // --- a turn ---

  /// The direction that the campaign sets for the coming turn; nothing unless there is a stall.
  std::string due_direction(const ledger::Standing& standing) const {
    const auto taken = static_cast<std::size_t>(m_state.directions_taken);
    return standing.stall_event && taken < m_campaign.directions.size()
               ? m_campaign.directions[taken]
               : std::string();
  }

  Expected<Turn> lay_out(const ledger::Standing& standing, const fs::path& scratch) {
    PromptParts parts;
    AKO_TRY(parts.brief, loop::brief_of(m_session));
    parts.state = m_state;
    parts.budget = m_campaign.budget;
    parts.agent = m_request.agent;
    parts.free = m_free_names;
    parts.deadline_seconds = turn_seconds(m_request.agent, m_campaign.budget, m_state);
    parts.direction = due_direction(standing);
    parts.ask_direction = standing.stall_event.has_value();
    Turn out;
    out.task = m_session.workdir().task();
    out.free = m_free;
    for (const std::vector<std::string>* list :
         {&std::as_const(m_adapter.own_folders), &m_request.agent.also_writable})
      for (const std::string& path : *list) out.free.push_back(with_home(path));
    out.scratch = scratch;
    out.prompt = prompt_text(parts);
    out.number = m_state.turn + 1;
    out.token = draw_token();
    out.deadline_seconds = parts.deadline_seconds;
    out.landlock = m_landlock;
    out.stop = [] { return loop::interrupted(); };
    return out;
  }

  Expected<model::Sources> keep_start() {
    AKO_TRY(const auto paths,
            workspace::candidate_paths(m_session.workdir(), m_session.contract()));
    AKO_TRY(model::Sources now,
            workspace::collect(m_session.workdir(), paths, {}, workspace::Missing::allowed));
    AKO_TRY_STATUS(
        workspace::keep_snapshot(m_session.workdir(), now, k_start).map([](const auto&) {}));
    return now;
  }

  /// What the task requires to be read is laid beside the agent and put on record as shown.
  Status give_reading(const fs::path& scratch) {
    auto reading = loop::reading_of(m_session);
    if (!reading) return {}; // the gate says why
    std::vector<const guides::Guide*> unread;
    for (const auto& item : reading->items) {
      AKO_TRY_STATUS(base::write_file_atomic(scratch / "reading" / (item.guide->id + ".md"),
                                             item.guide->shown()));
      if (item.state != guides::ReadState::read) unread.push_back(item.guide);
    }
    return loop::record_reading(m_session, unread);
  }

  Status turn(const ledger::Standing& standing) {
    AKO_TRY(base::TemporaryDir scratch, base::TemporaryDir::make("ako-scratch"));
    AKO_TRY_STATUS(give_reading(scratch.path()));
    AKO_TRY(const Turn laid, lay_out(standing, scratch.path()));
    AKO_TRY(const model::Sources start, keep_start());
    const std::string direction = due_direction(standing);
    {
      AKO_TRY(const base::FileLock lock, m_session.lock());
      AKO_TRY_STATUS(
          append("turn", laid.number, {{"token", laid.token}, {"solution", start.snapshot.hash}}));
      AKO_TRY(Guard guard, Guard::take(guard_plan(), m_guard ? &*m_guard : nullptr));
      m_guard = std::move(guard);
      base::info("turn {} of {}: {}", laid.number, m_campaign.budget.iterations, m_adapter.name);
      auto heard = run_agent(m_adapter, laid);
      AKO_TRY(const std::vector<Change> changes, m_guard->undo());
      if (!heard) {
        AKO_TRY_STATUS(put_sources(start));
        AKO_TRY_STATUS(m_guard->close());
        AKO_TRY_STATUS(append("lost", laid.number, {{"why", heard.error().message}}));
        if (heard.error().kind == ErrorKind::interrupted) return stopped_by_user();
        return tl::unexpected(heard.error());
      }
      AKO_TRY_STATUS(record_answer(laid, *heard, changes, start, direction));
    }
    return judge();
  }

  Status record_answer(const Turn& laid, const Heard& heard, const std::vector<Change>& changes,
                       const model::Sources& start, const std::string& direction) {
    const Said said = read_answer(heard.out);
    Json outside = Json::array();
    for (const Change& change : changes) {
      base::info("undone: {}", to_text(change));
      outside.push_back(to_text(change));
    }
    std::string trouble;
    base::Hash candidate;
    auto taken = workspace::take_snapshot(m_session.workdir(), m_session.contract());
    if (taken) {
      candidate = taken->snapshot.hash;
      AKO_TRY_STATUS(
          workspace::keep_snapshot(m_session.workdir(), *taken, k_answer).map([](const auto&) {}));
    } else {
      trouble = taken.error().text();
      AKO_TRY_STATUS(put_sources(start));
    }
    const bool changed = !taken || candidate != start.snapshot.hash;
    Money money = m_campaign.money;
    if (money.pattern.empty()) money.pattern = m_adapter.money_pattern;
    const std::optional<double> spent = read_money(money, heard.out + "\n" + heard.err);
    const bool failed = !heard.ending.exited || heard.ending.code != 0;
    Json data = {{"how", heard.timed_out ? "timeout"
                         : failed        ? "failed"
                                         : "ended"},
                 {"ending", heard.timed_out ? "deadline" : heard.ending.text()},
                 {"seconds", base::number_or_null(heard.seconds)},
                 {"money", spent ? base::number_or_null(*spent) : Json()},
                 {"hypothesis", said.hypothesis},
                 {"prediction", said.prediction},
                 {"cites", said.cites},
                 {"done", said.done},
                 {"direction", direction.empty() ? said.direction : direction},
                 {"direction_taken", !direction.empty()},
                 {"predicted_gain", said.predicted_gain ? Json(*said.predicted_gain) : Json()},
                 {"changed", changed},
                 {"candidate", candidate},
                 {"trouble", trouble},
                 {"outside", std::move(outside)},
                 {"left_running", heard.left_running},
                 {"landlock", m_landlock}};
    const auto last = [](const std::string& text) {
      return text.size() > k_output_on_record ? text.substr(text.size() - k_output_on_record)
                                              : text;
    };
    AKO_TRY_STATUS(m_guard->close());
    return append("answered", laid.number, std::move(data),
                  {{"output", last(heard.out)}, {"errors", last(heard.err)}});
  }

  // --- judging ---

  Status refuse(const std::string& why) {
    base::info("turn {}: nothing to judge: {}", m_state.turn, why);
    return append("tried", m_state.turn, {{"refused", why}, {"text", why + "\n"}});
  }

  /// Waivers come from the campaign's file alone.
  Status open_gates(loop::TryRequest& request) {
    AKO_TRY(loop::Facts facts, m_session.facts());
    facts.direction_given = !request.direction.empty();
    AKO_TRY(const auto cited,
            loop::cited_by(request.hypothesis, request.cites, facts.standing.iterations));
    facts.citation = cited.empty() ? loop::Citation::none : loop::Citation::given;
    std::string why;
    for (const auto& gate : loop::closed_gates(loop::Claim::iteration, facts)) {
      const auto waiver = std::find_if(
          m_campaign.waivers.begin(), m_campaign.waivers.end(),
          [&](const CampaignWaiver& each) { return each.gate == loop::to_string(gate.gate); });
      // What only the answer could have supplied costs the turn, not the campaign.
      if (waiver == m_campaign.waivers.end() && is_the_agents(loop::to_string(gate.gate)))
        return base::fail(ErrorKind::usage, gate.missing, {.where = "your answer"});
      if (waiver == m_campaign.waivers.end())
        return base::fail(
            ErrorKind::refused, gate.missing,
            {.where = std::string("gate ") + loop::to_string(gate.gate),
             .found = "closed, and not waived by " + m_campaign.file.filename().string(),
             .allowed = {},
             .next = gate.command});
      why += (why.empty() ? "" : "; ") + waiver->why;
    }
    if (!why.empty()) request.waive = why;
    request.waived_by = "campaign file";
    return {};
  }

  Expected<loop::TryRequest> request_of_answer(const ledger::Standing& standing) {
    const AnswerRecord& answer = m_state.answer;
    loop::TryRequest out;
    out.hypothesis = answer.hypothesis.empty()
                         ? fmt::format("(turn {}: the agent gave no hypothesis)", m_state.turn)
                         : answer.hypothesis;
    out.prediction = answer.prediction;
    out.predicted_gain = answer.predicted_gain;
    out.cites = answer.cites;
    // Where no direction is due, the agent has none to give: it would end a stall before it is one.
    if (standing.stall_event) out.direction = answer.direction;
    AKO_TRY_STATUS(open_gates(out));
    return out;
  }

  Status judge() {
    const AnswerRecord& answer = m_state.answer;
    if (!answer.trouble.empty()) return refuse(answer.trouble);
    if (!answer.changed) return refuse("the candidate is what it was");
    AKO_TRY(const ledger::Standing standing, m_session.standing());
    auto request = request_of_answer(standing);
    if (!request && agents_fault(request.error().kind)) {
      AKO_TRY_STATUS(put_standing());
      return refuse(request.error().text());
    }
    if (!request) return tl::unexpected(request.error());
    auto result = evaluate_patiently(m_evaluator, m_session, *request);
    if (!result && agents_fault(result.error().kind)) {
      AKO_TRY_STATUS(put_standing());
      return refuse(result.error().text());
    }
    if (!result) return tl::unexpected(result.error());
    if (machines_fault(result->outcome)) AKO_TRY_STATUS(put_standing());
    return record_verdict(*result);
  }

  Status record_verdict(const Evaluated& result) {
    base::info("turn {}: iteration {}: {} -> {}", m_state.turn, result.iteration,
               model::to_string(result.outcome), model::to_string(result.decision));
    return append("tried", m_state.turn,
                  {{"iteration", result.iteration},
                   {"first_iteration", result.first_iteration},
                   {"last_device_seconds", base::number_or_null(result.last_device_seconds)},
                   {"outcome", model::to_string(result.outcome)},
                   {"decision", model::to_string(result.decision)},
                   {"seconds", base::number_or_null(result.seconds)},
                   {"device_seconds", base::number_or_null(result.device_seconds)},
                   {"stalled", result.stalled},
                   {"text", result.text}});
  }

  loop::Session m_session; ///< opened again when the lane is changed
  const DriveRequest& m_request;
  const Campaign& m_campaign;
  Evaluator& m_evaluator;
  Adapter m_adapter;
  bool m_landlock;
  fs::path m_home;
  std::vector<std::string> m_free_names;
  std::vector<fs::path> m_free;
  State m_state;
  std::optional<Guard> m_guard;
};

} // namespace

Expected<model::Sources> standing_sources(const loop::Session& session) {
  AKO_TRY(const loop::Incumbent incumbent, loop::incumbent_of(session));
  return loop::standing_sources(session, incumbent);
}

Status undo_open_turn(const fs::path& dir, const std::string& record) {
  // The agent may have taken task.toml away, by which a task is found.
  auto found = workspace::Workdir::find(dir);
  if (!found) found = workspace::Workdir::at(dir);
  if (!found) return {};
  const auto place = found->git();
  std::error_code why;
  if (!place || !fs::exists(place->common_dir / "ako", why)) return {};
  AKO_TRY(const fs::path records, found->records());
  const fs::path home = home_of(records, record);
  if (Guard::open_turn(home / "guard").empty()) return {};
  const auto lock = base::FileLock::take(records / "campaign.lock", base::FileLock::Wait::no);
  if (!lock) return {}; // its driver lives
  end_leftovers(Guard::open_turn(home / "guard"));
  AKO_TRY(const std::vector<Change> changes, Guard::undo_open(*found, home / "guard"));
  for (const Change& change : changes) base::info("undone: {}", to_text(change));
  return put_missing(*found, home / "undone");
}

Expected<Driven> drive(const loop::Session& session, const DriveRequest& request,
                       Evaluator& evaluator) {
  return Driver(session, request, evaluator).run();
}

} // namespace ako::drive
