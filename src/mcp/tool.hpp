// What a tool is told and what it answers, as data. The program makes the tools from its commands.
#pragma once

#include "base/json.hpp"

#include <string>
#include <vector>

namespace ako::mcp {

enum class Type { text, number, integer, flag, texts };

struct Parameter {
  std::string name;
  Type type = Type::text;
  std::string help;
  bool required = false;
  std::vector<std::string> allowed = {}; ///< the words it may be; empty = any
};

/// What a call leaves behind.
enum class Effect {
  reads,   ///< nothing
  records, ///< rows on record and figures of the machine: ako's own, nothing is lost
  writes   ///< the user's files, branches or checkouts: solution/, task.toml, notes, reports
};

struct Tool {
  std::string name, title, description;
  std::vector<Parameter> parameters;
  Effect effect = Effect::reads;
  base::Json data_schema = base::Json::object(); ///< properties of "data"
  bool network = false;                          ///< it may ask another machine
};

enum class Detail { brief, full };

/// A tool's answer before it is cut to size.
struct Answer {
  std::string text;    ///< for people
  base::Json envelope; ///< as `ako --json` prints it
};

base::Json input_schema(const Tool& tool);
/// Of the structured content: ako's envelope, and "more" where something was left out.
base::Json output_schema(const Tool& tool);

/// Kind usage for an unknown, missing or mistyped argument, with the nearest known name.
base::Status check_arguments(const Tool& tool, const base::Json& arguments);

/// The MCP features that differ between protocol versions.
struct Dialect {
  std::string version;
  bool batches = true;     ///< lists of messages
  bool annotations = true; ///< of tools
  bool structured = true;  ///< structuredContent, outputSchema, titles
  bool progress_text = true;
  bool enveloped = false; ///< no greeting: every request says its version in "_meta"
};
/// The dialect of a version that `initialize` can agree on, else the newest of them.
Dialect dialect(const std::string& version);
std::string known_versions();
/// The one without `initialize`.
Dialect enveloped_dialect();

/// One entry of tools/list.
base::Json describe(const Tool& tool, const Dialect& dialect);

} // namespace ako::mcp
