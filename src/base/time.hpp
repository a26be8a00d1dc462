// Clocks. Durations are int64 nanoseconds named *_ns throughout.
#pragma once

#include <cstdint>
#include <string>

namespace ako::base {

std::int64_t monotonic_ns(); ///< CLOCK_MONOTONIC; never jumps
std::int64_t wall_ns();      ///< CLOCK_REALTIME since 1970; may jump, used for time stamps alone

/// "2026-01-31T12:34:56.789Z" of a wall_ns value.
std::string iso_time(std::int64_t wall);

/// A moment on the monotonic clock after which waiting is given up.
class Deadline {
public:
  static Deadline never() { return Deadline(INT64_MAX); }
  static Deadline after_ns(std::int64_t ns);
  static Deadline after_seconds(double seconds);
  std::int64_t remaining_ns() const; ///< 0 when passed
  int remaining_ms() const;          ///< for poll(): rounded up, -1 for never, at most INT_MAX
  bool passed() const { return remaining_ns() == 0; }

private:
  explicit Deadline(std::int64_t at) : m_at_ns(at) {}
  std::int64_t m_at_ns;
};

} // namespace ako::base
