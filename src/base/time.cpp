#include "base/time.hpp"

#include <climits>
#include <ctime>
#include <fmt/format.h>

namespace ako::base {

namespace {

constexpr std::int64_t k_second_ns = 1'000'000'000;
constexpr std::int64_t k_milli_ns = 1'000'000;

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * k_second_ns + now.tv_nsec;
}

} // namespace

std::int64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

std::int64_t wall_ns() { return clock_ns(CLOCK_REALTIME); }

std::string iso_time(std::int64_t wall) {
  std::int64_t seconds = wall / k_second_ns;
  std::int64_t rest = wall % k_second_ns;
  if (rest < 0) { // before 1970 the fraction still counts upwards
    rest += k_second_ns;
    --seconds;
  }
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     rest / k_milli_ns);
}

Deadline Deadline::after_ns(std::int64_t ns) {
  const std::int64_t now = monotonic_ns();
  if (ns <= 0) return Deadline(now);
  return ns >= INT64_MAX - now ? never() : Deadline(now + ns);
}

Deadline Deadline::after_seconds(double seconds) {
  if (!(seconds > 0)) return after_ns(0); // NaN included: a broken bound must not wait for ever
  const double ns = seconds * static_cast<double>(k_second_ns);
  return ns >= 9e18 ? never() : after_ns(static_cast<std::int64_t>(ns));
}

std::int64_t Deadline::remaining_ns() const {
  if (m_at_ns == INT64_MAX) return INT64_MAX;
  const std::int64_t left = m_at_ns - monotonic_ns();
  return left > 0 ? left : 0;
}

int Deadline::remaining_ms() const {
  const std::int64_t left = remaining_ns();
  if (left == INT64_MAX) return -1;
  const std::int64_t ms = left / k_milli_ns + (left % k_milli_ns != 0 ? 1 : 0);
  return ms > INT_MAX ? INT_MAX : static_cast<int>(ms);
}

} // namespace ako::base
