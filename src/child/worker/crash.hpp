// Signals that end a worker: a record goes into the crash pipe, then the signal takes its course.
#pragma once

namespace ako::worker {

/// Installs the handlers on an alternate stack of this thread. `fd` is the pipe's end.
void install_crash_handlers(int fd);
/// The handlers that are ours: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS.
bool is_crash_signal(int signal);

} // namespace ako::worker
