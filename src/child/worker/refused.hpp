// A command that is refused.
#pragma once

#include "protocol/server.hpp"

namespace ako::worker {

/// Kinds: see protocol/kinds.hpp.
inline tl::unexpected<protocol::Refusal> refused(const char* kind, std::string message,
                                                 base::Json data = base::Json::object()) {
  return tl::unexpected(protocol::Refusal{kind, std::move(message), std::move(data)});
}

} // namespace ako::worker
