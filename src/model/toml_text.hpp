// What a TOML parser must not be given: bytes that are no UTF-8, control characters, unknown
// escapes, letters outside quotes. Found beforehand, each with its place and a remedy.
#pragma once

#include "base/error.hpp"

#include <string_view>

namespace ako::model {

/// Kind invalid, where = file:line:column. An unclosed string ends the check: the parser's own
/// message points there.
base::Status check_toml_text(std::string_view text, std::string_view file);

} // namespace ako::model
