// The way out where a bug shows: a failed invariant, or an exception that nobody caught.
#pragma once

#include "base/error.hpp"

namespace ako {

/// Prints the error in the form that the caller of the program wants; gives the exit code.
using TellBug = int (*)(const base::Error&);

/// From here on a bug on any thread of this process is told once and ends it with that code. A
/// process forked from it aborts: its streams are not its own.
void end_by_bugs(TellBug tell);

base::Error bug_error(const std::string& what, const std::string& where);

/// Fails in the way that AKO_BREAK names, so that the way out can be tried: "invariant",
/// "exception", "thread" (an exception on another thread). Anything else does nothing.
void break_on_purpose();

} // namespace ako
