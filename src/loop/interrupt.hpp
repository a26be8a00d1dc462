// Ctrl-C and SIGTERM: a flag that long work polls, so that what is on record stays whole.
#pragma once

namespace ako::loop {

void install_interrupt_handler();
bool interrupted();

} // namespace ako::loop
