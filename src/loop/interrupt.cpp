#include "loop/interrupt.hpp"

#include <csignal>
#include <unistd.h>

namespace ako::loop {
namespace {

volatile std::sig_atomic_t g_signals = 0;

/// The first one asks; the third one means it.
void on_signal(int signal) {
  g_signals = g_signals + 1;
  if (g_signals >= 3) _exit(128 + signal);
}

} // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
  sigaction(SIGXFSZ, &ignore, nullptr); // a file that may not grow is an error, not an end
}

bool interrupted() { return g_signals != 0; }

} // namespace ako::loop
