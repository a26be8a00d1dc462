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
};

/// What a call leaves behind.
enum class Effect {
  reads,   ///< nothing
  records, ///< rows on record, figures, files that ako writes
  decides  ///< may change solution/: keep, revert
};

struct Tool {
  std::string name, title, description;
  std::vector<Parameter> parameters;
  Effect effect = Effect::reads;
  base::Json data_schema = base::Json::object(); ///< properties of "data"
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
};
/// The dialect of a known version, else the newest.
Dialect dialect(const std::string& version);
std::string known_versions();

/// One entry of tools/list.
base::Json describe(const Tool& tool, const Dialect& dialect);

} // namespace ako::mcp
