#include "ako_agents.hpp"

#include "cli/texts.hpp"
#include "drive/side_by_side.hpp"
#include "guides/library.hpp"
#include "loop/environment.hpp"
#include "mcp/server.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace ako {
namespace {

constexpr const char* k_instructions =
    "ako judges and measures kernel optimisations and keeps the record. Begin with `status`: it "
    "says "
    "what stands and the one thing to do next. Then, per iteration: change one thing in solution/, "
    "call `try` with a hypothesis, read the verdict. Correctness comes before speed and a win must "
    "be "
    "seen twice; what is not better is reverted by ako. compare, bench, profile, diagnose, log and "
    "show are free. A closed gate names what is missing and what supplies it. Answers hold at most "
    "4 KB; `more` pages through what was cut.";

/// Who may waive: by this server's command line, and never where a campaign runs the agent.
base::Expected<Waivers> waivers_of(const cli::Arguments& arguments) {
  const char* unattended = std::getenv("AKO_UNATTENDED");
  const bool alone = unattended != nullptr && *unattended != '\0';
  if (!arguments.has("allow-waivers")) {
    // Commands look at it as well, whatever way an argument takes to them.
    ::setenv("AKO_UNATTENDED", "1", 1);
    return Waivers::withheld;
  }
  if (!alone) return Waivers::allowed;
  return base::fail(
      base::ErrorKind::refused, "an unattended agent gives itself no waivers",
      {.where = "ako mcp --allow-waivers",
       .found = "AKO_UNATTENDED is set: the server was started by an agent",
       .allowed = "a server that a person starts, or [[waiver]] in the campaign's file",
       .next = "ako mcp"});
}

base::Expected<cli::Reply> run_mcp(const cli::Context& context, const cli::Arguments& arguments) {
  AKO_TRY(const Waivers waivers, waivers_of(arguments));
  mcp::Site site;
  site.version = loop::k_ako_version;
  std::error_code ignored;
  site.dir = std::filesystem::absolute(context.dir, ignored);
  site.tools = agent_tools(waivers);
  site.instructions = k_instructions;
  cli::Context server = context;
  server.dir = site.dir;
  site.call = [server, waivers](const std::string& tool, const base::Json& given) {
    return run_tool(server, tool, given, waivers);
  };
  // Every call is a process that begins with what this one knows: the guides are read once, and git
  // is asked once where the task lies.
  if (auto folder = guides::Library::find_folder())
    static_cast<void>(guides::Library::load(*folder));
  if (auto workdir = workspace::Workdir::find(site.dir)) static_cast<void>(workdir->git());
  AKO_TRY(const mcp::Ended ended, mcp::serve(site, STDIN_FILENO, STDOUT_FILENO));
  cli::Reply reply;
  if (ended == mcp::Ended::signalled) reply.outcome = model::OutcomeKind::interrupted;
  return reply;
}

const cli::Command k_mcp{
    "mcp",
    "serve coding agents: every step as a tool over stdin and stdout",
    "Model Context Protocol, versions 2024-11-05 to 2025-11-25, and 2026-07-28. Tools run the\n"
    "commands of the same names; resources are the task on a page, the contract, the log, notes,\n"
    "profiles, the report and the guides; the prompt `iteration` is what to do next. Ends when "
    "the\n"
    "client closes its side.",
    {},
    {{"allow-waivers", "",
      "tools may waive gates, flag candidates, profile a command and write outside the task; "
      "without it only a person can",
      cli::Arity::flag}},
    {"ako mcp", "ako -C tasks/rmsnorm mcp", "claude mcp add ako -- ako -C \"$PWD\" mcp"},
    run_mcp};

base::Json row_json(const std::optional<ledger::IterationRow>& row) {
  if (!row) return {};
  return {{"number", row->number},
          {"hypothesis", row->hypothesis},
          {"confirmed", row->confirmed},
          {"snapshot", row->snapshot},
          {"baseline_gain", row->base_gain ? base::number_or_null(*row->base_gain) : base::Json()}};
}

std::string incumbent_text(const ledger::Standing& standing) {
  if (!standing.incumbent) return "nothing was kept: the baseline stands\n";
  const auto& row = *standing.incumbent;
  return fmt::format(
      "incumbent: iteration {} ({}), {} against the baseline\n", row.number, row.hypothesis,
      row.base_gain ? fmt::format("{:+.1f} %", 100 * *row.base_gain) : "not measured");
}

base::Expected<cli::Reply> drive_one(const loop::Session& session,
                                     const drive::Campaign& campaign) {
  const auto evaluator = drive::real_evaluator(cli::write_texts);
  AKO_TRY(const drive::Driven driven,
          drive::drive(session, {campaign, campaign.agent, ""}, *evaluator));
  const drive::State& state = driven.state;
  cli::Reply reply;
  reply.text =
      fmt::format("campaign {} ended after {} turns: {}\n{}wall {:.0f} s, device {:.0f} s, "
                  "money {:.2f}\n",
                  campaign.name, state.turn, state.stopped, incumbent_text(driven.standing),
                  state.wall_seconds, state.device_seconds, state.money);
  if (!driven.landlock)
    reply.warnings.push_back("the agent was not confined by Landlock; edits outside its paths were "
                             "found by comparison alone");
  reply.data = {{"campaign", campaign.name},
                {"turns", state.turn},
                {"stopped", state.stopped},
                {"incumbent", row_json(driven.standing.incumbent)},
                {"iterations", driven.standing.iterations},
                {"wall_seconds", state.wall_seconds},
                {"device_seconds", state.device_seconds},
                {"money", state.money},
                {"landlock", driven.landlock}};
  return reply;
}

/// A warning for every setting that did not end well. Kind environment when none did.
base::Expected<std::vector<std::string>>
failures_of(const drive::Campaign& campaign, const std::vector<drive::SettingEnd>& settings) {
  std::vector<std::string> out;
  for (const auto& end : settings)
    if (end.exit != 0) out.push_back(fmt::format("setting {}: {}", end.name, end.failure));
  if (out.empty() || out.size() < settings.size()) return out;
  return base::fail(base::ErrorKind::environment, "no setting of the campaign ended well",
                    {.where = "campaign " + campaign.name,
                     .found = fmt::format("{}", fmt::join(out, "; ")),
                     .allowed = "at least one that ends by the campaign's own conditions",
                     .next =
                         "mend what is named, then run the same command again: it goes on where "
                         "the records stand"});
}

base::Expected<cli::Reply> drive_several(const loop::Session& session,
                                         const drive::Campaign& campaign) {
  AKO_TRY(const drive::SideBySide result, drive::drive_side_by_side(session, campaign, [] {
            return drive::real_evaluator(cli::write_texts);
          }));
  cli::Reply reply;
  base::Json settings = base::Json::array();
  AKO_TRY(reply.warnings, failures_of(campaign, result.settings));
  for (const auto& end : result.settings) {
    reply.text += fmt::format(
        "{:<12} {}\n", end.name,
        end.best ? fmt::format("its iteration {}, tried again: {}", end.best->number, end.outcome)
        : end.exit != 0 ? "failed"
                        : "kept nothing");
    settings.push_back({{"name", end.name},
                        {"task", end.task.string()},
                        {"exit", end.exit},
                        {"failure", end.failure.empty() ? base::Json() : base::Json(end.failure)},
                        {"best", row_json(end.best)},
                        {"tried_again", end.outcome}});
  }
  reply.text += incumbent_text(result.standing);
  reply.data = {{"campaign", campaign.name},
                {"settings", std::move(settings)},
                {"winner", result.winner.empty() ? base::Json() : base::Json(result.winner)},
                {"incumbent", row_json(result.standing.incumbent)}};
  return reply;
}

base::Expected<cli::Reply> run_drive(const cli::Context& context, const cli::Arguments& arguments) {
  if (arguments.has("template")) {
    cli::Reply reply;
    reply.text = drive::campaign_template();
    reply.data = {{"text", reply.text}};
    return reply;
  }
  if (!arguments.has("campaign"))
    return base::fail(base::ErrorKind::usage, "a campaign needs its file",
                      {.where = "--campaign",
                       .found = "nothing",
                       .allowed = "a campaign.toml",
                       .next = "ako drive --template > campaign.toml"});
  AKO_TRY(const std::filesystem::path file,
          cli::named_file(arguments.text("campaign"), context.dir));
  AKO_TRY(const drive::Campaign campaign, drive::read_campaign(file, arguments.text("agent")));
  if (campaign.settings.empty()) AKO_TRY_STATUS(drive::undo_open_turn(context.dir, campaign.name));
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  session.use_device(arguments.maybe("device"));
  return campaign.settings.empty() ? drive_one(session, campaign)
                                   : drive_several(session, campaign);
}

const cli::Command k_drive{
    "drive",
    "an unattended campaign: an agent edits, ako judges, keeps, reverts and stops",
    "Per turn: a prompt from the record, the agent's command in the task with a deadline and only "
    "its\n"
    "paths writable, edits outside undone, then `ako try`. Budgets, stalls, waivers and the end "
    "are\n"
    "ako's, by campaign.toml. Run again after any interruption it goes on where the record "
    "stands.\n"
    "With [[setting]]s several work side by side, and the best are tried again on the task "
    "itself.\n"
    "Do not edit the task while a campaign runs: whatever changes during a turn is put back.",
    {},
    {{"campaign", "FILE", "campaign.toml: budgets, paths, waivers, stop conditions"},
     {"agent", "CMD", "claude, codex, or any command that edits files; goes before the file's"},
     {"device", "ID", cli::k_device_help},
     {"template", "", "print a campaign.toml to begin with", cli::Arity::flag}},
    {"ako drive --template > campaign.toml", "ako drive --agent claude --campaign campaign.toml",
     "ako drive --agent \"python3 agent.py\" --campaign campaign.toml --json"},
    run_drive};

} // namespace

std::vector<const cli::Command*> agent_commands() { return {&k_mcp, &k_drive}; }

} // namespace ako
