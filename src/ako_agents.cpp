#include "ako_agents.hpp"

#include "loop/environment.hpp"
#include "mcp/server.hpp"

#include <filesystem>
#include <unistd.h>

namespace ako {
namespace {

constexpr const char* k_instructions =
    "ako judges and measures kernel optimisations and keeps the record. Begin with `status`: it says "
    "what stands and the one thing to do next. Then, per iteration: change one thing in solution/, "
    "call `try` with a hypothesis, read the verdict. Correctness comes before speed and a win must be "
    "seen twice; what is not better is reverted by ako. compare, bench, profile, diagnose, log and "
    "show are free. A closed gate names what is missing and what supplies it. Answers hold at most "
    "4 KB; `more` pages through what was cut.";

base::Expected<cli::Reply> run_mcp(const cli::Context& context, const cli::Arguments& arguments) {
  mcp::Site site;
  site.version = loop::k_ako_version;
  std::error_code ignored;
  site.dir = std::filesystem::absolute(context.dir, ignored);
  site.tools = agent_tools(arguments.has("allow-waivers") ? Waivers::allowed : Waivers::withheld);
  site.instructions = k_instructions;
  cli::Context server = context;
  server.dir = site.dir;
  site.call = [server](const std::string& tool, const base::Json& given) {
    return run_tool(server, tool, given);
  };
  AKO_TRY(const mcp::Ended ended, mcp::serve(site, STDIN_FILENO, STDOUT_FILENO));
  cli::Reply reply;
  if (ended == mcp::Ended::signalled) reply.outcome = model::OutcomeKind::interrupted;
  return reply;
}

const cli::Command k_mcp{
    "mcp",
    "serve coding agents: every step as a tool over stdin and stdout",
    "Model Context Protocol, versions 2024-11-05 to 2025-06-18. Tools run the commands of the same\n"
    "names; resources are the contract, the log, notes, profiles, the report and the guides; the\n"
    "prompt `iteration` is the task on a page. Ends when the client closes its side.",
    {},
    {{"allow-waivers", "", "tools may waive gates and flag candidates; without it only a person can",
      cli::Arity::flag}},
    {"ako mcp", "ako -C tasks/rmsnorm mcp", "claude mcp add ako -- ako -C \"$PWD\" mcp"},
    run_mcp};

} // namespace

std::vector<const cli::Command*> agent_commands() { return {&k_mcp}; }

} // namespace ako
