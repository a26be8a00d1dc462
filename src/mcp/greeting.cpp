// How a conversation begins: by `initialize`, or without it, each request naming its protocol
// version.
#include "mcp/envelope.hpp"
#include "mcp/session.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace ako::mcp {
namespace {

using base::Json;

Json capabilities() {
  return {{"tools", {{"listChanged", false}}},
          {"resources", {{"subscribe", false}, {"listChanged", false}}},
          {"prompts", {{"listChanged", false}}},
          {"logging", Json::object()}};
}

bool is_known(const std::string& method) {
  static constexpr std::array k_methods = {"tools/list",
                                           "tools/call",
                                           "resources/list",
                                           "resources/read",
                                           "resources/templates/list",
                                           "prompts/list",
                                           "prompts/get",
                                           "logging/setLevel"};
  return std::find(k_methods.begin(), k_methods.end(), method) != k_methods.end();
}

} // namespace

bool Session::admit(const Message& message, const Asker& asker) {
  const std::string& method = message.method;
  const Json& meta = meta_of(message.params);
  const bool enveloped = meta.contains(k_meta_version) || meta.contains(k_meta_capabilities);
  if (m_dialect.enveloped || (enveloped && !m_initialized)) return admit_enveloped(message, asker);
  if (method == "initialize") initialize(message, asker);
  else if (method == "ping") result(asker, Json::object());
  // A newer client may ask first for what this server does not know, and takes "no method" for an
  // answer.
  else if (!m_initialized && is_known(method))
    error(asker, {k_invalid_request, "\"initialize\" comes first", {{"next", "initialize"}}});
  else return true;
  return false;
}

bool Session::admit_enveloped(const Message& message, const Asker& asker) {
  const Dialect spoken = enveloped_dialect();
  const Json& meta = meta_of(message.params);
  const auto refuse = [&](const Json& requested) {
    error(asker, {k_no_version,
                  "this protocol version is not spoken here",
                  {{"supported", Json::array({spoken.version})}, {"requested", requested}}});
    return false;
  };
  if (message.method == "initialize") // the conversation goes without it
    return refuse(message.params.value("protocolVersion", Json()));
  for (const char* key : {k_meta_version, k_meta_capabilities})
    if (!meta.contains(key)) {
      error(asker, {k_invalid_params, fmt::format("\"_meta\" lacks \"{}\"", key), {}});
      return false;
    }
  if (!meta[k_meta_version].is_string()) {
    error(asker, {k_invalid_params, fmt::format("\"{}\" must be a text", k_meta_version), {}});
    return false;
  }
  if (meta[k_meta_version] != spoken.version) return refuse(meta[k_meta_version]);
  m_dialect = spoken;
  m_initialized = true;
  if (message.method != "server/discover") return true;
  discover(asker);
  return false;
}

void Session::discover(const Asker& asker) {
  result(asker, {{"supportedVersions", Json::array({m_dialect.version})},
                 {"capabilities", capabilities()},
                 {"instructions", m_site.instructions}});
}

Json Session::server_info() const { return {{"name", "ako"}, {"version", m_site.version}}; }

void Session::initialize(const Message& message, const Asker& asker) {
  if (m_initialized)
    return error(asker, {k_invalid_request, "this conversation is initialized already", {}});
  auto wanted = base::get<std::string>(message.params, "protocolVersion");
  if (!wanted)
    return error(
        asker,
        {k_invalid_params, "\"protocolVersion\" is missing", {{"allowed", known_versions()}}});
  m_dialect = dialect(*wanted);
  m_initialized = true;
  Json server = server_info();
  if (m_dialect.structured) server["title"] = "ako: judged and measured kernel optimisation";
  result(asker, {{"protocolVersion", m_dialect.version},
                 {"capabilities", capabilities()},
                 {"serverInfo", std::move(server)},
                 {"instructions", m_site.instructions}});
}

} // namespace ako::mcp
