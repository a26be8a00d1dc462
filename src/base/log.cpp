#include "base/log.hpp"

#include "base/progress.hpp"
#include "base/time.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ako::base {

namespace {

constexpr int k_bar_cells = 24;

std::atomic<LogLevel> g_level{LogLevel::normal};
std::mutex g_mutex;
std::atomic<ProgressSink> g_sink{nullptr};
std::atomic<std::int64_t> g_interval_ns{10'000'000'000};
std::atomic<std::int64_t> g_last_line_ns{0}; ///< 0 = nothing was told to go on yet
bool g_bar_shown = false; ///< under g_mutex: a progress line stands on the terminal

/// Columns of the terminal on stderr; 0 when stderr is none.
int terminal_columns() {
  if (isatty(STDERR_FILENO) == 0) return 0;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

void clear_bar() {
  if (g_bar_shown) std::fputs("\r\033[K", stderr);
  g_bar_shown = false;
}

/// Who reads a file or a pipe sees that it goes on, and where.
void progress_line(double part, const std::string& text) {
  const std::int64_t now = monotonic_ns();
  std::int64_t last = 0;
  if (g_last_line_ns.compare_exchange_strong(last, now)) return;
  if (now - last < g_interval_ns.load()) return;
  if (g_last_line_ns.compare_exchange_strong(last, now))
    log_line(LogLevel::normal, fmt::format("... {:.0f} % {}", part * 100, text));
}

/// At most `columns` characters of `text`, cut between UTF-8 characters and before a line break.
std::string cut(const std::string& text, int columns) {
  int used = 0;
  std::size_t end = 0;
  while (end < text.size() && text[end] != '\n') {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (starts && used == columns) break;
    used += starts ? 1 : 0;
    ++end;
  }
  return text.substr(0, end);
}

} // namespace

void set_log_level(LogLevel level) { g_level.store(level, std::memory_order_relaxed); }

LogLevel log_level() { return g_level.load(std::memory_order_relaxed); }

void log_line(LogLevel at_least, const std::string& text) {
  if (log_level() < at_least) return;
  const std::lock_guard lock(g_mutex);
  clear_bar();
  const std::string line = text + "\n"; // one write, so that lines of several processes stay whole
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

void set_progress_sink(ProgressSink sink) { g_sink.store(sink); }

void set_progress_interval(std::int64_t ns) { g_interval_ns.store(ns); }

void progress(double fraction, const std::string& text) {
  if (const ProgressSink sink = g_sink.load()) return sink(fraction, text);
  if (log_level() == LogLevel::quiet) return;
  const int columns = terminal_columns();
  const double part = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  if (columns == 0) return progress_line(part, text);
  const int full = static_cast<int>(part * k_bar_cells);
  std::string bar(static_cast<std::size_t>(full), '#');
  bar.resize(k_bar_cells, '.');
  const std::string head = fmt::format("[{}] {:3.0f} % ", bar, part * 100);
  const int left = columns - 1 - static_cast<int>(head.size());
  const std::lock_guard lock(g_mutex);
  std::fputs(("\r\033[K" + head + cut(text, std::max(left, 0))).c_str(), stderr);
  std::fflush(stderr);
  g_bar_shown = true;
}

void progress_done() {
  const std::lock_guard lock(g_mutex);
  clear_bar();
  std::fflush(stderr);
}

} // namespace ako::base
