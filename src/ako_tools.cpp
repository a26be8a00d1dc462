// Tools from commands: one source for options, help and behaviour.
#include "ako_agents.hpp"

#include "workspace/workdir.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako {
namespace {

using base::Json;
using mcp::Effect;
using mcp::Type;

Json type(const char* name) { return {{"type", name}}; }
Json or_null(const char* name) { return {{"type", Json::array({name, "null"})}}; }
Json list_of(const char* name) { return {{"type", "array"}, {"items", type(name)}}; }

Json verdict_schema() {
  return {{"type", "object"},
          {"properties",
           {{"outcome", type("object")},
            {"gain", or_null("number")},
            {"interval", type("object")},
            {"shapes", list_of("object")},
            {"confirmed", type("boolean")},
            {"against", type("string")}}}};
}

Json figures_schema() {
  return {{"type", "array"},
          {"items",
           {{"type", "object"},
            {"properties",
             {{"tag", type("string")},
              {"p50_ns", or_null("number")},
              {"p95_ns", or_null("number")}}}}}};
}

/// A command that is a tool: what it leaves behind, and the members of its data.
struct ToolRow {
  const char* name;
  const char* title;
  Effect effect;
  Json data;
  bool network = false;
};

std::vector<ToolRow> looking_rows() {
  return {{"status",
           "What stands and what is next",
           Effect::reads,
           {{"task", type("string")},
            {"iterations", type("integer")},
            {"outcomes", type("object")},
            {"incumbent", or_null("object")},
            {"last", or_null("object")},
            {"closed_gates", list_of("object")},
            {"waivers", type("integer")},
            {"head", type("string")},
            {"next", type("string")}}},
          {"log",
           "What was tried",
           Effect::reads,
           {{"iterations", type("integer")}, {"rows", list_of("object")}}},
          {"show",
           "One iteration in full",
           Effect::reads,
           {{"iteration", Json::object()},
            {"commit", type("string")},
            {"diff", type("string")},
            {"evaluation", type("object")},
            {"replay", type("object")},
            {"samples", type("array")}}},
          {"verify",
           "Is the record whole",
           Effect::reads,
           {{"events", type("integer")}, {"head", type("string")}, {"remarks", list_of("string")}}},
          {"doctor", "What this machine has", Effect::reads, {{"findings", list_of("object")}}},
          {"diagnose",
           "What limits a kernel, from a saved profile",
           Effect::reads,
           {{"kernels", list_of("object")}, {"delta", type("object")}}},
          {"compare",
           "Which of two files is faster",
           Effect::records,
           {{"verdict", verdict_schema()}, {"judged_by", type("string")}}}};
}

std::vector<ToolRow> working_rows() {
  return {
      {"refs", "What must be read, and reading it", Effect::records, Json::object()},
      {"new",
       "Make a task",
       Effect::writes,
       {{"task", type("string")}, {"files", list_of("string")}, {"questions", list_of("string")}}},
      {"check",
       "Can the contract judge",
       Effect::records,
       {{"passed", type("boolean")}, {"steps", list_of("object")}, {"sides", list_of("object")}}},
      {"baseline",
       "Measure what a win is measured against",
       Effect::writes,
       {{"fastest", type("string")}, {"entries", list_of("object")}}},
      {"try",
       "One iteration: judge, measure, decide",
       Effect::writes,
       {{"iteration", type("integer")},
        {"verdict", verdict_schema()},
        {"decision", type("string")},
        {"decision_reason", type("string")},
        {"restored", list_of("string")},
        {"stalled", type("boolean")},
        {"lessons", list_of("string")},
        {"compiler_messages", list_of("object")}}},
      {"bench",
       "Figures of one side",
       Effect::records,
       {{"what", type("string")}, {"shapes", figures_schema()}, {"clock", type("string")}}},
      {"profile",
       "Look into the kernel",
       Effect::writes,
       {{"basis", type("string")}, {"kernels", list_of("object")}, {"event", type("integer")}}},
      {"scope",
       "Is the kernel hot",
       Effect::writes,
       {{"hot", or_null("object")}, {"recorded", type("boolean")}}},
      {"report",
       "Write the report",
       Effect::writes,
       {{"claim", or_null("object")},
        {"untested", list_of("string")},
        {"markdown", type("string")},
        {"html", type("string")}}}};
}

/// Where a task comes from, where it may go, and what the machine can do.
std::vector<ToolRow> outer_rows() {
  return {{"lane",
           "Which lane the kernel belongs in",
           Effect::writes,
           {{"lane", type("string")}, {"lanes", list_of("object")}, {"before", type("string")}}},
          {"preflight",
           "Is the AKO4ALL checkout as it must be",
           Effect::writes,
           {{"checkout", type("string")},
            {"head", type("string")},
            {"done", type("string")},
            {"recorded", type("boolean")}},
           true},
          {"port",
           "Put the incumbent on a branch of its repository",
           Effect::writes,
           {{"state", type("string")},
            {"repository", type("string")},
            {"branch", type("string")},
            {"commit", type("string")},
            {"files", list_of("string")}}},
          {"validate",
           "Is the target faster by its own benchmarks",
           Effect::records,
           {{"state", type("string")},
            {"reason", type("string")},
            {"steps", list_of("object")},
            {"untested", list_of("string")},
            {"verdict", verdict_schema()}}},
          {"calibrate", "Measure this machine's ceilings", Effect::records, Json::object()}};
}

std::vector<ToolRow> tool_rows() {
  std::vector<ToolRow> out = looking_rows();
  for (ToolRow& row : working_rows()) out.push_back(std::move(row));
  for (ToolRow& row : outer_rows()) out.push_back(std::move(row));
  return out;
}

const cli::Command* find_command(const std::string& name) {
  for (const cli::Command* command : cli::commands())
    if (command->name == name) return command;
  return nullptr;
}

/// Dashes are for command lines.
std::string argument_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Type type_of(const cli::OptionSpec& option) {
  if (option.arity == cli::Arity::flag) return Type::flag;
  if (option.arity == cli::Arity::many) return Type::texts;
  if (option.value == "N" || option.value == "NUMBER") return Type::integer;
  if (option.value == "PERCENT" || option.value == "S") return Type::number;
  return Type::text;
}

/// What is a person's to decide: a waiver, a candidate kept at a risk, a command that ako is to
/// run.
bool is_withheld(const std::string& command, const std::string& word) {
  return word == "waive" || (command == "try" && word == "flag") ||
         (command == "profile" && word == "command");
}

mcp::Tool tool_of(const ToolRow& row, const cli::Command& command, Waivers waivers) {
  mcp::Tool out;
  out.name = row.name;
  out.title = row.title;
  out.description = command.summary + ".\n" + command.help;
  out.effect = row.effect;
  out.data_schema = row.data;
  out.network = row.network;
  const auto withheld = [&](const std::string& word) {
    return waivers == Waivers::withheld && is_withheld(command.name, word);
  };
  for (const auto& each : command.positionals) {
    if (withheld(each.name)) continue;
    const Type kind = each.arity == cli::Arity::many ? Type::texts
                      : each.name == "iteration"     ? Type::integer
                                                     : Type::text;
    out.parameters.push_back({argument_name(each.name), kind, each.help, each.required});
  }
  for (const auto& each : command.options) {
    if (withheld(each.name)) continue;
    out.parameters.push_back({argument_name(each.name), type_of(each), each.help,
                              command.name == "try" && each.name == "hypothesis"});
  }
  out.parameters.push_back({"dir", Type::text,
                            command.name == "new" ? "folder in which the task is made, named from "
                                                    "the server's folder"
                                                  : "the task's folder, named from the server's "
                                                    "folder (default: that folder)"});
  out.parameters.push_back({"detail",
                            Type::text,
                            "brief (default: at most 4 KB, the rest by the tool more) or full",
                            false,
                            {"brief", "full"}});
  return out;
}

std::string word_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "";
  if (value.is_number_integer()) return value.dump();
  return fmt::format("{}", value.get<double>());
}

cli::Arguments arguments_of(const cli::Command& command, const Json& given) {
  cli::Arguments out;
  const auto take = [&](const std::string& name) {
    const std::string key = argument_name(name);
    if (!given.contains(key)) return;
    const Json& value = given[key];
    if (value.is_array()) {
      for (const Json& each : value) out.add(name, word_of(each));
    } else if (const std::string word = word_of(value); !word.empty()) {
      out.add(name, word);
    }
  };
  for (const auto& each : command.positionals) take(each.name);
  for (const auto& each : command.options) take(each.name);
  return out;
}

/// An argument that names what a tool writes.
struct Written {
  const char *command, *argument;
  std::vector<std::string> endings; ///< a file's; none for a folder
};

const std::vector<Written>& written_paths() {
  static const std::vector<Written> all = {{"report", "into", {}},
                                           {"report", "archive", {".tar.gz", ".tgz"}},
                                           {"port", "patch", {".patch", ".diff"}},
                                           {"scope", "into", {".toml"}}};
  return all;
}

namespace fs = std::filesystem;

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto [at, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  static_cast<void>(rest);
  return at == folder.end();
}

/// Named from the task, and inside of it: a tool call overwrites nothing else.
base::Status place(const Written& written, const cli::Context& context, const fs::path& server,
                   Waivers waivers, Json& arguments) {
  const std::string given = base::get_or<std::string>(arguments, written.argument, "");
  if (given.empty()) return {};
  const auto task = workspace::Workdir::find(context.dir);
  std::error_code why;
  const fs::path bound = fs::weakly_canonical(task ? task->task() : server, why);
  const fs::path path = fs::weakly_canonical(bound / given, why);
  const auto ends = [&](const std::string& ending) { return path.string().ends_with(ending); };
  const bool kind =
      written.endings.empty() || std::any_of(written.endings.begin(), written.endings.end(), ends);
  const bool inside = !why && kind && path.filename() != "task.toml" && lies_in(path, bound);
  if (inside || waivers == Waivers::allowed) {
    arguments[written.argument] = path.string();
    return {};
  }
  std::string allowed = "a folder inside " + bound.string();
  if (!written.endings.empty())
    allowed = fmt::format("a file inside {}, no task.toml, whose name ends in {}", bound.string(),
                          fmt::join(written.endings, " or "));
  return base::fail(base::ErrorKind::refused, "a tool writes inside its task alone",
                    {.where = std::string(written.command) + "." + written.argument,
                     .found = path.string(),
                     .allowed = std::move(allowed),
                     .next = "name a place there, or leave it to a person: the command line, or a "
                             "server started with --allow-waivers"});
}

base::Expected<cli::Reply> run_placed(const cli::Command& command, const cli::Context& context,
                                      const fs::path& server, Json arguments, Waivers waivers) {
  for (const Written& written : written_paths())
    if (command.name == written.command)
      AKO_TRY_STATUS(place(written, context, server, waivers, arguments));
  return command.run(context, arguments_of(command, arguments));
}

} // namespace

std::vector<mcp::Tool> agent_tools(Waivers waivers) {
  std::vector<mcp::Tool> out;
  for (const ToolRow& row : tool_rows())
    if (const cli::Command* command = find_command(row.name))
      out.push_back(tool_of(row, *command, waivers));
  return out;
}

mcp::Answer run_tool(const cli::Context& server, const std::string& tool, const Json& arguments,
                     Waivers waivers) {
  const cli::Command* command = find_command(tool);
  AKO_CHECK(command != nullptr, "tools are made from commands: " + tool);
  cli::Context context = server;
  context.json = true;
  context.dir = server.dir / base::get_or<std::string>(arguments, "dir", ".");
  const base::Expected<cli::Reply> reply =
      run_placed(*command, context, server.dir, arguments, waivers);
  int exit = 0;
  if (!reply) exit = cli::exit_code(reply.error());
  else if (reply->outcome) exit = model::exit_code(*reply->outcome);
  mcp::Answer out;
  out.envelope = cli::envelope(tool, reply, exit);
  out.envelope.erase("schema");
  out.envelope.erase("command");
  out.text = reply ? reply->text : "error: " + reply.error().text();
  return out;
}

} // namespace ako
