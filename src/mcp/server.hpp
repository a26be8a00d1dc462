// The MCP server: one thread, one loop over stdin, stdout and the calls that are running.
#pragma once

#include "base/fs.hpp"
#include "mcp/tool.hpp"

#include <functional>

namespace ako::mcp {

/// What the program puts behind the protocol.
struct Site {
  std::string version;     ///< "0.1.0"
  base::fs::path dir;      ///< the task, or the folder that tasks are named from
  std::vector<Tool> tools; ///< without `more`, which is the server's own
  /// Runs a tool, in a process forked for it; errors are inside the envelope.
  std::function<Answer(const std::string& tool, const base::Json& arguments)> call;
  std::string instructions; ///< shown to the client's model
};

enum class Ended {
  end_of_input, ///< the client closed our stdin
  output_lost,  ///< nobody reads our stdout any more
  signalled     ///< SIGINT or SIGTERM
};

/// Serves until the client goes. Calls that are still running then are asked to stop.
base::Expected<Ended> serve(const Site& site, int in_fd, int out_fd);

} // namespace ako::mcp
