// Progress and diagnostics on stderr. stdout belongs to results.
#pragma once

#include <fmt/format.h>
#include <string>

namespace ako::base {

enum class LogLevel { quiet, normal, verbose };

void set_log_level(LogLevel level);
LogLevel log_level();

void log_line(LogLevel at_least, const std::string& text);

template <class... Args> void info(fmt::format_string<Args...> format, Args&&... args) {
  if (log_level() >= LogLevel::normal)
    log_line(LogLevel::normal, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args> void detail(fmt::format_string<Args...> format, Args&&... args) {
  if (log_level() >= LogLevel::verbose)
    log_line(LogLevel::verbose, fmt::format(format, std::forward<Args>(args)...));
}

/// One line redrawn in place on a terminal; elsewhere a line now and then, once it takes long.
/// fraction in [0, 1].
void progress(double fraction, const std::string& text);
void progress_done();

} // namespace ako::base
