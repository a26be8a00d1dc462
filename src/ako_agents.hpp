// The commands that let coding agents use ako, and the tools that they are given.
#pragma once

#include "cli/command.hpp"
#include "mcp/tool.hpp"

namespace ako {

/// mcp, drive
std::vector<const cli::Command*> agent_commands();

/// The commands that are tools as well, with parameters from their options. A waiver is a person's
/// to give, and so are a command for ako to run and a place outside the task to write to: without
/// `allowed` no tool takes them.
enum class Waivers { withheld, allowed };
std::vector<mcp::Tool> agent_tools(Waivers waivers);

/// Runs a tool's command as the command line would; `dir` is the server's.
mcp::Answer run_tool(const cli::Context& server, const std::string& tool,
                     const base::Json& arguments, Waivers waivers);

} // namespace ako
