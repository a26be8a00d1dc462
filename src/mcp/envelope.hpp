// Members of a request's "_meta", by which it goes without a greeting.
#pragma once

#include "base/json.hpp"

namespace ako::mcp {

inline constexpr const char *k_meta_version = "io.modelcontextprotocol/protocolVersion",
                            *k_meta_capabilities = "io.modelcontextprotocol/clientCapabilities",
                            *k_meta_server = "io.modelcontextprotocol/serverInfo",
                            *k_meta_level = "io.modelcontextprotocol/logLevel";

/// An object; an empty one where there is none.
inline const base::Json& meta_of(const base::Json& params) {
  static const base::Json k_none = base::Json::object();
  return params.contains("_meta") && params["_meta"].is_object() ? params["_meta"] : k_none;
}

} // namespace ako::mcp
