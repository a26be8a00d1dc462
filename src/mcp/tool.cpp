#include "mcp/tool.hpp"

#include "mcp/brief.hpp"
#include "model/nearest.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::mcp {
namespace {

using base::Json;

Json type_schema(Type type) {
  switch (type) {
  case Type::text: return {{"type", "string"}};
  case Type::number: return {{"type", "number"}};
  case Type::integer: return {{"type", "integer"}};
  case Type::flag: return {{"type", "boolean"}};
  case Type::texts: return {{"type", "array"}, {"items", {{"type", "string"}}}};
  }
  return {};
}

const char* allowed_text(Type type) {
  switch (type) {
  case Type::text: return "a text";
  case Type::number: return "a number";
  case Type::integer: return "a whole number";
  case Type::flag: return "true or false";
  case Type::texts: return "a list of texts";
  }
  return "";
}

bool fits(Type type, const Json& value) {
  switch (type) {
  case Type::text: return value.is_string();
  case Type::number: return value.is_number();
  case Type::integer: return value.is_number_integer();
  case Type::flag: return value.is_boolean();
  case Type::texts:
    if (!value.is_array()) return false;
    for (const Json& each : value)
      if (!each.is_string()) return false;
    return true;
  }
  return false;
}

tl::unexpected<base::Error> wrong_argument(const Tool& tool, const std::string& name,
                                           std::string message, std::string found,
                                           std::string allowed, std::string next) {
  return base::fail(base::ErrorKind::usage, std::move(message),
                    {.where = tool.name + "." + name,
                     .found = std::move(found),
                     .allowed = std::move(allowed),
                     .next = std::move(next)});
}

Json texts() { return {{"type", "array"}, {"items", {{"type", "string"}}}}; }
Json nullable(const char* type) { return {{"type", Json::array({type, "null"})}}; }

} // namespace

Json input_schema(const Tool& tool) {
  Json properties = Json::object(), required = Json::array();
  for (const Parameter& each : tool.parameters) {
    Json schema = type_schema(each.type);
    schema["description"] = each.help;
    if (!each.allowed.empty()) schema["enum"] = each.allowed;
    properties[each.name] = std::move(schema);
    if (each.required) required.push_back(each.name);
  }
  Json out = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) out["required"] = std::move(required);
  out["additionalProperties"] = false;
  return out;
}

Json output_schema(const Tool& tool) {
  Json data = {{"type", Json::array({"object", "null"})},
               {"description", "the command's result; null with an error"}};
  if (!tool.data_schema.empty()) data["properties"] = tool.data_schema;
  Json error = {{"type", Json::array({"object", "null"})},
                {"properties",
                 {{"kind", {{"type", "string"}}},
                  {"message", {{"type", "string"}}},
                  {"where", {{"type", "string"}}},
                  {"found", {{"type", "string"}}},
                  {"allowed", {{"type", "string"}}},
                  {"next", {{"type", "string"}, {"description", "the one thing to do"}}}}}};
  Json more = {
      {"type", "object"},
      {"description", "what was left out: ask the tool `more`"},
      {"properties",
       {{"result", {{"type", "string"}}}, {"bytes", {{"type", "integer"}}}, {"cut", texts()}}}};
  Json properties = {
      {"exit", {{"type", "integer"}, {"description", "the command's exit code; 0 = done"}}},
      {"outcome", nullable("string")},
      {"fault", {{"type", "string"}}},
      {"data", std::move(data)},
      {"error", std::move(error)},
      {"warnings", texts()},
      {"more", std::move(more)}};
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", Json::array({"exit", "outcome", "data", "error"})}};
}

base::Status check_arguments(const Tool& tool, const Json& arguments) {
  std::vector<std::string> known;
  for (const Parameter& each : tool.parameters) known.push_back(each.name);
  if (!arguments.is_object())
    return wrong_argument(tool, "arguments", "arguments are named", arguments.type_name(),
                          "an object", {});
  for (const auto& [name, value] : arguments.items()) {
    const Parameter* parameter = nullptr;
    for (const Parameter& each : tool.parameters)
      if (each.name == name) parameter = &each;
    if (parameter == nullptr)
      return wrong_argument(tool, name, "this tool knows no such argument", name,
                            known.empty() ? "none" : model::join(known),
                            model::did_you_mean(name, known));
    if (!fits(parameter->type, value))
      return wrong_argument(tool, name, "this argument is of the wrong type",
                            shorten(base::dump_json(value), 80), allowed_text(parameter->type), {});
    const auto& words = parameter->allowed;
    const std::string word = value.is_string() ? value.get<std::string>() : base::dump_json(value);
    if (words.empty() || std::find(words.begin(), words.end(), word) != words.end()) continue;
    return wrong_argument(tool, name, "this argument knows no such word", shorten(word, 80),
                          model::join(words), model::did_you_mean(word, words));
  }
  for (const Parameter& each : tool.parameters)
    if (each.required && !arguments.contains(each.name))
      return wrong_argument(tool, each.name, "this argument is missing", "nothing", each.help,
                            "call " + tool.name + " again with it");
  return {};
}

namespace {

/// Oldest first.
std::vector<Dialect> dialects() {
  return {{"2024-11-05", true, false, false, false},
          {"2025-03-26", true, true, false, true},
          {"2025-06-18", false, true, true, true},
          {"2025-11-25", false, true, true, true}};
}

} // namespace

Dialect dialect(const std::string& version) {
  for (const Dialect& each : dialects())
    if (each.version == version) return each;
  return dialects().back();
}

Dialect enveloped_dialect() { return {"2026-07-28", false, true, true, true, true}; }

std::string known_versions() {
  std::vector<std::string> names;
  for (const Dialect& each : dialects()) names.push_back(each.version);
  return model::join(names);
}

Json describe(const Tool& tool, const Dialect& dialect) {
  Json out = {{"name", tool.name}};
  if (dialect.structured) out["title"] = tool.title;
  out["description"] = tool.description;
  out["inputSchema"] = input_schema(tool);
  if (dialect.structured) out["outputSchema"] = output_schema(tool);
  if (dialect.annotations)
    out["annotations"] = {{"title", tool.title},
                          {"readOnlyHint", tool.effect == Effect::reads},
                          {"destructiveHint", tool.effect == Effect::writes},
                          {"idempotentHint", tool.effect == Effect::reads},
                          {"openWorldHint", tool.network}};
  return out;
}

} // namespace ako::mcp
