#include "drive/side_by_side.hpp"

#include "base/log.hpp"
#include "base/sqlite.hpp"
#include "drive/waivers.hpp"
#include "loop/interrupt.hpp"
#include "workspace/git.hpp"
#include "workspace/revert.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::drive {

using base::ErrorKind;
using base::Expected;
using base::Status;
namespace fs = base::fs;

namespace {

/// Where a setting works, and under which name its record lies.
struct Place {
  fs::path tree, task;
  std::string branch;
};

Place place_of(const workspace::GitPlace& git, const Campaign& campaign, const Setting& setting) {
  Place out;
  out.tree = git.top.parent_path() /
             fmt::format("{}-{}-{}", git.top.filename().string(), campaign.name, setting.name);
  out.task = git.prefix.empty() ? out.tree : out.tree / git.prefix;
  out.branch = fmt::format("ako-drive/{}/{}", campaign.name, setting.name);
  return out;
}

Status check_committed(const loop::Session& session) {
  const workspace::Git git(session.workdir().task());
  AKO_TRY(std::string text, git.run({"status", "--porcelain", "--untracked-files=no", "--", "."}));
  AKO_TRY(const std::string known, git.run({"ls-files", "--", "task.toml"}));
  if (known.empty()) text = "task.toml is not in git";
  if (text.empty()) return {};
  return base::fail(ErrorKind::refused, "the task has files that are not committed",
                    {.where = session.workdir().task().string(),
                     .found = text.substr(0, 300),
                     .allowed = "a committed task: each setting works in a worktree of it",
                     .next = "git add and git commit them, then run the command again"});
}

/// The record so far, under the setting's own name: proof, baseline and incumbent are the same.
Status copy_record(const loop::Session& from, const loop::Session& to) {
  AKO_TRY(const fs::path old_ledger, from.workdir().ledger());
  AKO_TRY(const fs::path new_ledger, to.workdir().ledger());
  {
    AKO_TRY(base::Database db, base::Database::open(old_ledger, base::Database::Mode::read_write));
    AKO_TRY_STATUS(db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  AKO_TRY(const std::string old_prefix, from.workdir().ref_prefix());
  AKO_TRY(const std::string new_prefix, to.workdir().ref_prefix());
  const workspace::Git git(from.workdir().task());
  AKO_TRY(const std::string refs,
          git.run({"for-each-ref", "--format=%(objectname) %(refname)", old_prefix}));
  for (std::size_t at = 0; at < refs.size();) {
    const std::size_t end = std::min(refs.find('\n', at), refs.size());
    const std::string line = refs.substr(at, end - at);
    at = end + 1;
    const std::size_t blank = line.find(' ');
    const std::string name = line.substr(blank + 1 + old_prefix.size());
    if (name.rfind("iter-", 0) != 0) continue;
    AKO_TRY_STATUS(git.run({"update-ref", new_prefix + name, line.substr(0, blank)}));
  }
  AKO_TRY(const std::string bytes, base::read_file(old_ledger, 4ull << 30));
  return base::write_file_atomic(new_ledger, bytes); // last: with it the place is whole
}

Expected<loop::Session> open_place(const loop::Session& session, const Campaign& campaign,
                                   const Setting& setting) {
  AKO_TRY(const workspace::GitPlace git_place, session.workdir().git());
  const Place place = place_of(git_place, campaign, setting);
  std::error_code why;
  if (fs::exists(place.task, why))
    AKO_TRY_STATUS(
        undo_open_turn(place.task, DriveRequest{campaign, {}, setting.name}.record_name()));
  if (!fs::exists(place.task / "task.toml", why)) {
    const workspace::Git git(session.workdir().task());
    workspace::Git::Call known;
    known.args = {"rev-parse", "--verify", "--quiet", "refs/heads/" + place.branch};
    AKO_TRY(const auto there, git.try_run(known));
    std::vector<std::string> words = {"worktree", "add", "--quiet", "--force"};
    if (!there.ok()) words.insert(words.end(), {"-b", place.branch});
    words.push_back(place.tree.string());
    words.push_back(there.ok() ? place.branch : std::string("HEAD"));
    AKO_TRY_STATUS(git.run(words));
  }
  AKO_TRY(const workspace::Workdir workdir, workspace::Workdir::at(place.task));
  AKO_TRY_STATUS(workdir.name_records(campaign.name + "+" + setting.name));
  AKO_TRY(loop::Session out, loop::Session::open(place.task, loop::Need::contract));
  AKO_TRY(const fs::path ledger, out.workdir().ledger());
  if (!fs::exists(ledger, why)) AKO_TRY_STATUS(copy_record(session, out));
  return out;
}

/// Where a setting's driver leaves why it failed, for the one that started it.
Expected<fs::path> failure_file(const loop::Session& session) {
  AKO_TRY(const fs::path records, session.workdir().records());
  return records / "campaign-failure.txt";
}

/// In a process of its own: signals, locks and the agent's children are its alone.
int run_setting(const loop::Session& session, const Campaign& campaign, const Setting& setting,
                const MakeEvaluator& make_evaluator) {
  const auto evaluator = make_evaluator();
  const DriveRequest request{campaign, setting.agent, setting.name};
  auto driven = drive(session, request, *evaluator);
  if (driven) {
    base::info("setting {}: {}", setting.name, driven->state.stopped);
    return 0;
  }
  base::info("setting {}: {}", setting.name, driven.error().text());
  if (auto file = failure_file(session))
    static_cast<void>(base::write_file_atomic(*file, driven.error().text()));
  return driven.error().kind == ErrorKind::interrupted ? 130 : 3;
}

Expected<pid_t> start_setting(const loop::Session& session, const Campaign& campaign,
                              const Setting& setting, const MakeEvaluator& make_evaluator) {
  AKO_TRY(const fs::path failure, failure_file(session));
  std::error_code ignored;
  fs::remove(failure, ignored);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid < 0) return base::fail_errno("no process could be started", "fork", errno);
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  int code = 70;
  try {
    code = run_setting(session, campaign, setting, make_evaluator);
  } catch (const std::exception& problem) {
    base::info("setting {}: a bug in ako: {}", setting.name, problem.what());
  }
  ::_exit(code);
}

/// Waits for all; a request to stop is passed on.
void wait_for(std::vector<SettingEnd>& ends, const std::vector<pid_t>& pids) {
  bool told = false;
  for (std::size_t i = 0; i < pids.size();) {
    if (loop::interrupted() && !told) {
      for (const pid_t pid : pids) ::kill(pid, SIGTERM);
      told = true;
    }
    int status = 0;
    const pid_t got = ::waitpid(pids[i], &status, WNOHANG);
    if (got == 0) {
      ::usleep(50'000);
      continue;
    }
    ends[i].exit = got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 70;
    ++i;
  }
}

/// Why the settings' drivers failed, where they did.
Status read_failures(const std::vector<loop::Session>& sessions, std::vector<SettingEnd>& ends) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].exit == 0) continue;
    AKO_TRY(const fs::path file, failure_file(sessions[i]));
    ends[i].failure =
        base::read_file(file).value_or(fmt::format("its driver ended with exit {}", ends[i].exit));
  }
  return {};
}

/// What settings have spent since the campaign began.
struct SettingsSpent {
  std::int64_t turns = 0;
  double agent_seconds = 0, wall_seconds = 0, device_seconds = 0, money = 0;
  bool operator==(const SettingsSpent&) const = default;
};

Expected<SettingsSpent> spent_by(const loop::Session& theirs, const std::string& record) {
  AKO_TRY(ledger::Reader reader, theirs.reader());
  AKO_TRY(const State state, state_of(reader, record));
  SettingsSpent out{0, 0, state.wall_seconds, state.device_seconds, state.money};
  AKO_TRY_STATUS(
      reader.each(ledger::EventKind::campaign, [&](const ledger::Event& event) -> Status {
        AKO_TRY(const ledger::Campaign step, ledger::payload_from<ledger::Campaign>(event.payload));
        const bool answered = step.step == "answered";
        if (step.name != record || !(answered || step.step == "lost")) return {};
        out.turns += answered;
        out.agent_seconds += base::get_or<double>(step.data, "seconds", 0.0);
        return {};
      }));
  return out;
}

/// What is on record about it.
Expected<SettingsSpent> noted_spent(const loop::Session& session, const std::string& record) {
  SettingsSpent out;
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY_STATUS(
      reader.each(ledger::EventKind::campaign, [&](const ledger::Event& event) -> Status {
        AKO_TRY(const ledger::Campaign step, ledger::payload_from<ledger::Campaign>(event.payload));
        if (step.name != record || step.step != "settings") return {};
        const auto number = [&](const char* key) {
          return base::get_or<double>(step.data, key, 0.0);
        };
        out = {base::get_or<std::int64_t>(step.data, "turns", 0), number("agent_seconds"),
               number("wall_seconds"), number("device_seconds"), number("money")};
        return {};
      }));
  return out;
}

/// The task's own record tells what the settings cost, whatever came of them.
Status note_spent(const loop::Session& session, const Campaign& campaign,
                  const std::vector<loop::Session>& sessions) {
  SettingsSpent all;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const std::string record = DriveRequest{campaign, {}, campaign.settings[i].name}.record_name();
    AKO_TRY(const SettingsSpent one, spent_by(sessions[i], record));
    all.turns += one.turns;
    all.agent_seconds += one.agent_seconds;
    all.wall_seconds = std::max(all.wall_seconds, one.wall_seconds); // they run side by side
    all.device_seconds += one.device_seconds;
    all.money += one.money;
  }
  AKO_TRY(const SettingsSpent noted, noted_spent(session, campaign.name));
  if (noted == all) return {};
  AKO_TRY(ledger::Writer writer, session.writer());
  return writer
      .append(ledger::Campaign{campaign.name,
                               "settings",
                               0,
                               {{"turns", all.turns},
                                {"agent_seconds", base::number_or_null(all.agent_seconds)},
                                {"wall_seconds", base::number_or_null(all.wall_seconds)},
                                {"device_seconds", base::number_or_null(all.device_seconds)},
                                {"money", base::number_or_null(all.money)}}})
      .map([](const auto&) {});
}

Status note_contender(const loop::Session& session, const Campaign& campaign, const SettingEnd& end,
                      std::int64_t iteration) {
  AKO_TRY(ledger::Writer writer, session.writer());
  return writer
      .append(ledger::Campaign{
          campaign.name,
          "contender",
          0,
          {{"setting", end.name},
           {"snapshot", end.best ? end.best->snapshot : base::Hash()},
           {"gain", end.best && end.best->base_gain ? base::number_or_null(*end.best->base_gain)
                                                    : base::Json()},
           {"outcome", end.outcome},
           {"iteration", iteration}}})
      .map([](const auto&) {});
}

Status put_standing(const loop::Session& session) {
  AKO_TRY(const model::Sources back, standing_sources(session));
  return workspace::restore_sources(session.workdir(), session.contract(), back, "campaign-undone")
      .map([](const auto&) {});
}

/// What a contender's attempt rested on, as far as the task itself has it: its own iterations have
/// other numbers there. That it is measured again rests on a guide of its own.
std::string cites_on_task(const std::string& theirs, std::int64_t inherited) {
  std::string out = "measuring";
  std::string id;
  for (std::istringstream words(theirs); std::getline(words, id, ',');) {
    id.erase(0, id.find_first_not_of(' '));
    const bool iteration = id.rfind("iter-", 0) == 0;
    if (id.empty() || id == "measuring" || (iteration && std::atoll(id.c_str() + 5) > inherited))
      continue;
    out += ", " + id;
  }
  return out;
}

/// Brackets would be citations here, of a record that is not this one.
std::string without_brackets(std::string text) {
  for (char& c : text)
    if (c == '[') c = '(';
    else if (c == ']') c = ')';
  return text;
}

Expected<loop::TryRequest> request_of(const loop::Session& session, const loop::Session& theirs,
                                      const Campaign& campaign, const SettingEnd& end,
                                      std::int64_t inherited) {
  loop::TryRequest out;
  out.hypothesis = without_brackets(fmt::format("the best of setting {} (its iteration {}): {}",
                                                end.name, end.best->number, end.best->hypothesis));
  out.explore = ledger::Explore::yes; // measuring again is no attempt of its own
  out.direction = "the best of several settings";
  AKO_TRY(ledger::Reader reader, theirs.reader());
  AKO_TRY(const auto recorded, reader.iteration(end.best->number));
  out.cites = cites_on_task(recorded ? recorded->payload.cites : std::string(), inherited);
  AKO_TRY_STATUS(carry_reading(theirs, session));
  AKO_TRY_STATUS(open_gates(session, campaign, out));
  return out;
}

/// With the contender's sources in solution/.
Status judge_contender(const loop::Session& session, const Campaign& campaign, SettingEnd& end,
                       std::int64_t inherited, Evaluator& evaluator) {
  AKO_TRY(const loop::Session theirs, loop::Session::open(end.task, loop::Need::contract));
  AKO_TRY(const model::Sources sources,
          workspace::read_snapshot(theirs.workdir(), workspace::kept_name(end.best->number)));
  AKO_TRY_STATUS(
      workspace::restore_sources(session.workdir(), session.contract(), sources, "campaign-undone")
          .map([](const auto&) {}));
  AKO_TRY(const loop::TryRequest request, request_of(session, theirs, campaign, end, inherited));
  auto result = evaluate_patiently(evaluator, session, request);
  if (!result && result.error().kind != ErrorKind::invalid) return tl::unexpected(result.error());
  if (!result) {
    AKO_TRY_STATUS(put_standing(session));
    end.outcome = "the same binary as the incumbent";
    return note_contender(session, campaign, end, 0);
  }
  if (machines_fault(result->outcome))
    return base::fail(ErrorKind::environment, "the machine is too busy to measure the best again",
                      {.where = "setting " + end.name,
                       .found = model::to_string(result->outcome),
                       .allowed = "a machine that is quiet while it is measured on",
                       .next = "run the same command again: what is done stays done"});
  end.outcome = model::to_string(result->outcome);
  base::info("best of setting {}: {} -> {}", end.name, end.outcome,
             model::to_string(result->decision));
  if (result->decision == model::Decision::revert) AKO_TRY_STATUS(put_standing(session));
  return note_contender(session, campaign, end, result->iteration);
}

/// The best of one setting as a candidate of the task itself, judged and measured anew. Whatever
/// comes of it, solution/ holds what stands.
Status try_contender(const loop::Session& session, const Campaign& campaign, SettingEnd& end,
                     std::int64_t inherited, Evaluator& evaluator) {
  Status judged = judge_contender(session, campaign, end, inherited, evaluator);
  if (judged) return judged;
  if (Status put = put_standing(session); !put)
    base::info("solution/ could not be put back: {}", put.error().text());
  return judged;
}

Status choose(const loop::Session& session, const Campaign& campaign, SideBySide& out,
              std::int64_t inherited, Evaluator& evaluator) {
  std::vector<SettingEnd*> order;
  for (SettingEnd& end : out.settings) {
    AKO_TRY(const loop::Session theirs, loop::Session::open(end.task, loop::Need::contract));
    AKO_TRY(const ledger::Standing standing, theirs.standing());
    if (standing.incumbent && standing.incumbent->number > inherited) {
      end.best = standing.incumbent;
      order.push_back(&end);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const SettingEnd* a, const SettingEnd* b) {
    return a->best->base_gain.value_or(-1) > b->best->base_gain.value_or(-1);
  });
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(const State state, state_of(reader, campaign.name));
  for (SettingEnd* end : order) {
    if (loop::interrupted())
      return base::fail(ErrorKind::interrupted, "stopped before the best were measured again",
                        {.where = "campaign " + campaign.name,
                         .found = {},
                         .allowed = {},
                         .next = "run the same command again to go on"});
    const std::string best = end->name + " " + end->best->snapshot;
    const bool done = std::count(state.contenders.begin(), state.contenders.end(), best) != 0;
    if (!done) AKO_TRY_STATUS(try_contender(session, campaign, *end, inherited, evaluator));
  }
  AKO_TRY(out.standing, session.standing());
  for (const SettingEnd* end : order)
    if (out.standing.incumbent && out.standing.incumbent->snapshot == end->best->snapshot)
      out.winner = end->name;
  return {};
}

} // namespace

namespace {

/// Readies the task itself; returns how many iterations were on record before the campaign.
Expected<std::int64_t> begin(const loop::Session& session, const Campaign& campaign,
                             Evaluator& evaluator) {
  // Once it has begun, solution/ may be what ako itself put back.
  AKO_TRY(const ledger::Standing found, session.standing());
  State before;
  if (found.events > 0) {
    AKO_TRY(ledger::Reader record, session.reader());
    AKO_TRY(before, state_of(record, campaign.name));
  }
  const bool begins = before.phase == Phase::new_;
  const auto note = [&](const char* step, base::Json data) -> Status {
    AKO_TRY(ledger::Writer writer, session.writer());
    return writer.append(ledger::Campaign{campaign.name, step, 0, std::move(data)})
        .map([](const auto&) {});
  };
  const std::int64_t inherited = begins ? found.iterations : before.inherited;
  const base::Json begun = {{"hash", campaign.hash},
                            {"settings", campaign.settings.size()},
                            {"inherited", found.iterations}};
  if (begins) AKO_TRY_STATUS(check_committed(session));
  // A file that was edited in between is on record before anything of it is used.
  else if (before.file != campaign.hash) AKO_TRY_STATUS(note("begun", begun));
  Spent spent;
  if (campaign.prepare) {
    AKO_TRY(spent, evaluator.prepare(session));
  }
  // Records of other work trees come to stand beside its own: its name is written down.
  AKO_TRY(const fs::path records, session.workdir().records());
  AKO_TRY_STATUS(session.workdir().name_records(records.filename().string()));
  if (begins) AKO_TRY_STATUS(note("begun", begun));
  if (spent.seconds > 0)
    AKO_TRY_STATUS(
        note("prepared", {{"seconds", base::number_or_null(spent.seconds)},
                          {"device_seconds", base::number_or_null(spent.device_seconds)}}));
  return inherited;
}

} // namespace

Expected<SideBySide> drive_side_by_side(const loop::Session& session, const Campaign& campaign,
                                        const MakeEvaluator& make_evaluator) {
  AKO_TRY(const fs::path records, session.workdir().records());
  AKO_TRY(const base::FileLock lock,
          base::FileLock::take(records / "campaign.lock", base::FileLock::Wait::no));
  const auto evaluator = make_evaluator();
  AKO_TRY(const std::int64_t inherited, begin(session, campaign, *evaluator));
  SideBySide out;
  std::vector<loop::Session> sessions;
  for (const Setting& setting : campaign.settings) {
    AKO_TRY(loop::Session place, open_place(session, campaign, setting));
    out.settings.push_back({setting.name, place.workdir().task(), 0, {}, std::nullopt, {}});
    sessions.push_back(std::move(place));
  }
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    auto pid = start_setting(sessions[i], campaign, campaign.settings[i], make_evaluator);
    if (!pid) return tl::unexpected(pid.error());
    pids.push_back(*pid);
  }
  wait_for(out.settings, pids);
  AKO_TRY_STATUS(read_failures(sessions, out.settings));
  AKO_TRY_STATUS(note_spent(session, campaign, sessions));
  if (loop::interrupted())
    return base::fail(ErrorKind::interrupted, "stopped; everything so far is on record",
                      {.where = "campaign " + campaign.name,
                       .found = {},
                       .allowed = {},
                       .next = "run the same command again to go on"});
  AKO_TRY_STATUS(choose(session, campaign, out, inherited, *evaluator));
  return out;
}

} // namespace ako::drive
