// Where progress goes when no terminal shows it.
#pragma once

#include <cstdint>
#include <string>

namespace ako::base {

/// Called by progress() instead of drawing; nullptr = draw on the terminal again.
using ProgressSink = void (*)(double fraction, const std::string& text);
void set_progress_sink(ProgressSink sink);
/// Time between lines where stderr is no terminal; the first comes after as much. Default 10 s.
void set_progress_interval(std::int64_t ns);

} // namespace ako::base
