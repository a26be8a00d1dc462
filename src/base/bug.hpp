// What a program does about a failed AKO_CHECK before it aborts.
#pragma once

#include <string>

namespace ako::base {

struct FailedCheck {
  const char* condition;
  const char* file;
  int line;
  const std::string& note;
};

/// Called first by check_failed(), on the thread where it failed; it need not return. Where it
/// does, and without one, the message goes to stderr and the process aborts.
using BugHook = void (*)(const FailedCheck&);
void set_bug_hook(BugHook hook);

} // namespace ako::base
