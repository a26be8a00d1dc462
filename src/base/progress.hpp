// Where progress goes when no terminal shows it.
#pragma once

#include <string>

namespace ako::base {

/// Called by progress() instead of drawing; nullptr = draw on the terminal again.
using ProgressSink = void (*)(double fraction, const std::string& text);
void set_progress_sink(ProgressSink sink);

} // namespace ako::base
