// Tools from commands: one source for options, help and behaviour.
#include "ako_agents.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

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
       Effect::records,
       {{"task", type("string")}, {"files", list_of("string")}, {"questions", list_of("string")}}},
      {"check",
       "Can the contract judge",
       Effect::records,
       {{"passed", type("boolean")}, {"steps", list_of("object")}, {"sides", list_of("object")}}},
      {"baseline",
       "Measure what a win is measured against",
       Effect::records,
       {{"fastest", type("string")}, {"entries", list_of("object")}}},
      {"try",
       "One iteration: judge, measure, decide",
       Effect::decides,
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
       Effect::records,
       {{"basis", type("string")}, {"kernels", list_of("object")}, {"event", type("integer")}}},
      {"scope",
       "Is the kernel hot",
       Effect::records,
       {{"hot", or_null("object")}, {"recorded", type("boolean")}}},
      {"report",
       "Write the report",
       Effect::records,
       {{"claim", or_null("object")},
        {"untested", list_of("string")},
        {"markdown", type("string")},
        {"html", type("string")}}}};
}

std::vector<ToolRow> tool_rows() {
  std::vector<ToolRow> out = looking_rows();
  for (ToolRow& row : working_rows()) out.push_back(std::move(row));
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

bool is_withheld(const std::string& option) { return option == "waive" || option == "flag"; }

mcp::Tool tool_of(const ToolRow& row, const cli::Command& command, Waivers waivers) {
  mcp::Tool out;
  out.name = row.name;
  out.title = row.title;
  out.description = command.summary + ".\n" + command.help;
  out.effect = row.effect;
  out.data_schema = row.data;
  for (const auto& each : command.positionals) {
    const Type kind = each.arity == cli::Arity::many ? Type::texts
                      : each.name == "iteration"     ? Type::integer
                                                     : Type::text;
    out.parameters.push_back({argument_name(each.name), kind, each.help, each.required});
  }
  for (const auto& each : command.options) {
    if (waivers == Waivers::withheld && is_withheld(each.name)) continue;
    out.parameters.push_back({argument_name(each.name), type_of(each), each.help,
                              command.name == "try" && each.name == "hypothesis"});
  }
  out.parameters.push_back({"dir", Type::text,
                            command.name == "new" ? "folder in which the task is made, named from "
                                                    "the server's folder"
                                                  : "the task's folder, named from the server's "
                                                    "folder (default: that folder)"});
  out.parameters.push_back(
      {"detail", Type::text, "brief (default: at most 4 KB, the rest by the tool more) or full"});
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

} // namespace

std::vector<mcp::Tool> agent_tools(Waivers waivers) {
  std::vector<mcp::Tool> out;
  for (const ToolRow& row : tool_rows())
    if (const cli::Command* command = find_command(row.name))
      out.push_back(tool_of(row, *command, waivers));
  return out;
}

mcp::Answer run_tool(const cli::Context& server, const std::string& tool, const Json& arguments) {
  const cli::Command* command = find_command(tool);
  AKO_CHECK(command != nullptr, "tools are made from commands: " + tool);
  cli::Context context = server;
  context.json = true;
  context.dir = server.dir / base::get_or<std::string>(arguments, "dir", ".");
  const base::Expected<cli::Reply> reply = command->run(context, arguments_of(*command, arguments));
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
