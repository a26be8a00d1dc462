// A part of a test that runs in a process of its own.
#pragma once

#include <functional>
#include <string>

namespace ako::ledger::testing {

struct ChildEnd {
  int code = -1; ///< exit code; -1 when it ended by a signal
  std::string said;
};

/// Forks; `body` writes to the given descriptor and returns the exit code. The child leaves by
/// _exit: nothing is flushed, closed or destroyed after `body`.
ChildEnd in_child(const std::function<int(int out)>& body);

void say(int out, const std::string& text);

} // namespace ako::ledger::testing
