// Errors as the user sees them.
#pragma once

#include "base/error.hpp"

namespace ako::cli {

/// The error with nothing left out: what is allowed and what to do next, in general words where
/// nobody who saw it knew better. A stop by the user allows nothing.
base::Error whole(base::Error error, const std::string& command);

} // namespace ako::cli
