// Work in a process of its own, forked from this one: it may take long, be stopped, or crash, and
// the server goes on. This process must have one thread.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/json.hpp"
#include "base/time.hpp"
#include "mcp/lines.hpp"

#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ako::mcp {

class Job {
public:
  using Work = std::function<base::Expected<base::Json>()>;
  struct Progress {
    double fraction = 0; ///< 0..1
    std::string text;
  };
  /// News since the last call.
  struct News {
    std::vector<Progress> progress;
    std::vector<std::string> log;                     ///< lines that it wrote to stderr
    std::optional<base::Expected<base::Json>> result; ///< it has ended
  };

  static base::Expected<Job> start(const Work& work);
  Job(Job&&) noexcept = default;
  Job& operator=(Job&&) noexcept = default;
  ~Job();

  /// Descriptors to poll for reading; -1 where one has ended.
  int result_fd() const { return m_result.get(); }
  int log_fd() const { return m_log.get(); }
  /// Reads what is there, without blocking.
  News read();
  /// Asks it to stop (SIGTERM); one that has not stopped after `grace_seconds` is killed by
  /// enforce().
  void stop(double grace_seconds);
  void enforce();

private:
  Job() : m_lines(128u << 20), m_log_lines(8u << 10) {}
  void take_line(const Line& line, News& news);
  base::Expected<base::Json> ending();

  pid_t m_pid = -1;
  base::UniqueFd m_result, m_log;
  LineReader m_lines, m_log_lines;
  std::optional<base::Expected<base::Json>> m_answer;
  std::optional<base::Deadline> m_kill_at;
};

} // namespace ako::mcp
