// Errors as the user sees them.
#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>

namespace ako::cli {

/// The error with nothing left out: what is allowed and what to do next, in general words where
/// nobody who saw it knew better. A stop by the user allows nothing.
base::Error whole(base::Error error, const std::string& command);

/// The lines that end an answer which tells of a failure: message, where, found, allowed, next.
std::string closing_text(const base::Error& error);

/// Text as a terminal may get it: of a kernel's source, or of what it printed, no control character
/// but line breaks and tabs gets through, and no mark that reorders what is read.
std::string printable(std::string_view text);

} // namespace ako::cli
