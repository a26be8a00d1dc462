// One verb, one file: each command is a row of data and a function from arguments to a reply.
#pragma once

#include "base/json.hpp"
#include "cli/arguments.hpp"
#include "model/outcome.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ako::cli {

/// What every command is told.
struct Context {
  std::filesystem::path dir;     ///< -C, or the current folder
  std::filesystem::path program; ///< this executable: its neighbours are found from it
  bool json = false;             ///< results as one JSON object on stdout
};

/// What every command answers; main prints it and turns it into the exit code.
struct Reply {
  std::string text;                          ///< for people, on stdout
  base::Json data = base::Json::object();    ///< for programs: "data" of the envelope
  std::optional<model::OutcomeKind> outcome; ///< decides the exit code where there is one
  std::optional<model::Fault> fault;
  std::vector<std::string> warnings;
  /// With an outcome that is a failure: what was wrong, where, and what to do. Its kind gives the
  /// same exit code as the outcome; `text` says it too.
  std::optional<base::Error> error;
};

/// Help of --device, the same in every command that measures.
inline constexpr const char* k_device_help = "device to run on: an index of `ako doctor`, a UUID "
                                             "or its beginning (default $AKO_DEVICE, else "
                                             "the first visible)";

struct Command {
  std::string name;
  std::string summary; ///< one line
  std::string help;    ///< what it does and what it leaves behind
  std::vector<PositionalSpec> positionals;
  std::vector<OptionSpec> options;
  std::vector<std::string> examples; ///< whole command lines
  base::Expected<Reply> (*run)(const Context&, const Arguments&);
};

/// All commands in the order in which help shows them.
const std::vector<const Command*>& commands();
/// Commands of rooms that stand beside this one; before anything is parsed.
void add_commands(const std::vector<const Command*>& more);

int exit_code(const base::Error& error);
/// {schema, command, exit, outcome, fault, data, error, warnings}
base::Json envelope(const std::string& command, const base::Expected<Reply>& reply, int exit);

/// A parsed command line, or what to print at once (help, version, usage error).
struct Invocation {
  const Command* command = nullptr;
  Context context;
  Arguments arguments;
  std::string print; ///< with command == nullptr
  std::optional<base::Error> error;
  std::string command_name; ///< with error: whose words were off, as far as known
  int verbosity = 0;        ///< -1 quiet, 1 verbose
};
Invocation parse(int argc, char** argv);

} // namespace ako::cli
