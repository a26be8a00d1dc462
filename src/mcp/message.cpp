#include "mcp/message.hpp"

#include <fmt/format.h>

namespace ako::mcp {
namespace {

using base::Json;

Message invalid(Json id, int code, std::string text) {
  Message out;
  out.id = std::move(id);
  out.error = {code, std::move(text), {}};
  return out;
}

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

Message read_message(const Json& json) {
  if (!json.is_object())
    return invalid({}, k_invalid_request, "a message is an object, or a list of objects");
  const bool has_id = json.contains("id");
  const Json id = has_id && is_id(json["id"]) ? json["id"] : Json();
  if (!json.contains("jsonrpc") || json["jsonrpc"] != "2.0")
    return invalid(id, k_invalid_request, "\"jsonrpc\" must be \"2.0\"");
  if (!json.contains("method")) {
    if (!json.contains("result") && !json.contains("error"))
      return invalid(id, k_invalid_request, "\"method\" is missing");
    Message out;
    out.kind = Message::Kind::response;
    out.id = id;
    return out;
  }
  if (!json["method"].is_string())
    return invalid(id, k_invalid_request, "\"method\" must be a text");
  if (has_id && !is_id(json["id"]))
    return invalid({}, k_invalid_request, "\"id\" must be a text or a whole number");
  Message out;
  out.kind = has_id ? Message::Kind::request : Message::Kind::notification;
  out.id = id;
  out.method = json["method"].get<std::string>();
  if (json.contains("params") && !json["params"].is_null()) {
    if (!json["params"].is_object())
      return invalid(id, k_invalid_params, "\"params\" is no object");
    out.params = json["params"];
  }
  return out;
}

} // namespace

Parsed parse_line(std::string_view line) {
  Parsed out;
  auto json = base::parse_json(line, "line");
  if (!json) {
    out.messages.push_back(invalid({}, k_parse_error, json.error().text()));
    return out;
  }
  if (!json->is_array()) {
    out.messages.push_back(read_message(*json));
    return out;
  }
  if (json->empty() || json->size() > k_most_in_batch) {
    out.messages.push_back(invalid(
        {}, k_invalid_request,
        fmt::format("a list holds 1 to {} messages, not {}", k_most_in_batch, json->size())));
    return out;
  }
  out.batch = true;
  for (const Json& each : *json) out.messages.push_back(read_message(each));
  return out;
}

Json response(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_response(const Json& id, const RpcError& error) {
  Json body = {{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}};
}

Json notification(std::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

RpcError rpc_error(int code, const base::Error& error) {
  Json data = {{"kind", base::to_string(error.kind)}};
  for (const auto& [key, text] :
       {std::pair{"where", &error.where}, std::pair{"found", &error.found},
        std::pair{"allowed", &error.allowed}, std::pair{"next", &error.next}})
    if (!text->empty()) data[key] = *text;
  return {code, error.text(), std::move(data)};
}

} // namespace ako::mcp
