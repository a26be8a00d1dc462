// JSON-RPC 2.0, as values.
//
//   line    = message | "[" message { "," message } "]"
//   message = request | notification | response
#pragma once

#include "base/json.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ako::mcp {

// What went wrong with a message, by the numbers of JSON-RPC; MCP's own: k_not_found for resources,
// k_no_version for a protocol version that is not spoken here.
inline constexpr int k_parse_error = -32700, k_invalid_request = -32600, k_no_method = -32601,
                     k_invalid_params = -32602, k_internal = -32603, k_not_found = -32002,
                     k_no_version = -32022;

struct RpcError {
  int code = k_internal;
  std::string message;
  base::Json data; ///< null = none
};

struct Message {
  enum class Kind { request, notification, response, invalid };
  Kind kind = Kind::invalid;
  base::Json id; ///< text or whole number of a request; null where none could be read
  std::string method;
  base::Json params = base::Json::object();
  RpcError error; ///< of an invalid one
};

struct Parsed {
  bool batch = false;
  std::vector<Message> messages; ///< at least one
};

inline constexpr std::size_t k_most_in_batch = 100;

/// Never fails: what is no message becomes an invalid one that says why.
Parsed parse_line(std::string_view line);

base::Json response(const base::Json& id, base::Json result);
base::Json error_response(const base::Json& id, const RpcError& error);
base::Json notification(std::string_view method, base::Json params);

/// An error of ako's own kind, with its remedy in `data`.
RpcError rpc_error(int code, const base::Error& error);

} // namespace ako::mcp
