// Names of resources, to be read and written.
//
//   uri   = "ako://" NAME [ "/" REST ] [ "?" query ] [ "#" anything ]
//   query = key "=" value { "&" key "=" value }      keys: task, from, bytes
//
// Names and values are percent-encoded; a client that fills ako://{name}{?task} in writes %2F for a
// slash.
#pragma once

#include "base/error.hpp"
#include "mcp/brief.hpp"

#include <cstdint>
#include <string>

namespace ako::mcp {

struct Address {
  std::string name, rest;
  std::string task;                   ///< folder; empty = the server's
  std::int64_t from = 0;              ///< first byte wanted
  std::int64_t bytes = k_brief_bytes; ///< of the whole answer, 1024 to 262144
};

/// Kind usage: another scheme, a broken escape, an unknown key, a number that is none.
base::Expected<Address> parse_address(const std::string& uri);
std::string to_uri(const Address& address);

} // namespace ako::mcp
