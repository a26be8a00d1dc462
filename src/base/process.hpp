// Child processes: started in a group of their own, watched by pidfd, ended as a group by id.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/time.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ako::base {

struct Limits { ///< rlimits of a child; absent = inherited
  std::optional<std::uint64_t> file_bytes, open_files, processes, cpu_seconds, core_bytes,
      stack_bytes;
};

struct SpawnOptions {
  std::vector<std::string> argv; ///< argv[0] is looked up in PATH when it has no slash
  std::optional<std::vector<std::string>> env; ///< "K=V"; absent = inherited
  std::string cwd;                             ///< empty = inherited
  /// {ours, its number in the child}; all others are closed, and 0, 1, 2 are /dev/null unless
  /// named.
  std::vector<std::pair<int, int>> fds;
  Limits limits;
  /// What becomes of the child when its parent is killed: it goes too, it is told to end (SIGTERM)
  /// and can clean up, or it goes on to its own end, as git must while it holds a lock.
  enum class Orphaned { killed, told, goes_on };
  Orphaned orphaned = Orphaned::killed;
  /// Runs in the child between fork and exec: async-signal-safe calls only. Non-zero = child exits
  /// 127.
  std::function<int()> before_exec;
};

/// How a process ended.
struct Ending {
  bool exited = false; ///< by exit code; else by signal
  int code = 0;        ///< exit code
  int signal = 0;      ///< signal number
  /// Most memory that it, or one of those that it waited for, ever held, shared pages included; 0 =
  /// not known.
  std::int64_t peak_bytes = 0;
  std::string text() const; ///< "exit 3", "signal 11 (SIGSEGV)"
};

/// A running child. The destructor kills its whole group and reaps it. Whatever the child left
/// running in its group is killed when its end is seen. Unless it goes on when orphaned it also
/// dies with the thread that spawned it: spawn from a thread that outlives it.
class Process {
public:
  static Expected<Process> spawn(const SpawnOptions& options);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();
  pid_t pid() const;
  int pidfd() const;
  bool running();                           ///< reaps without blocking
  Expected<Ending> wait(Deadline deadline); ///< kind timeout when the deadline passes first
  void signal_group(int signal);            ///< only ever the group this object started
  void kill_group();                        ///< SIGKILL to the group, then reap

private:
  Process() = default;
  pid_t m_pid = -1;
  UniqueFd m_pidfd;
  std::optional<Ending> m_ending;
};

struct CommandOptions : SpawnOptions {
  Deadline deadline = Deadline::never();
  std::size_t capture_bytes =
      1 << 20; ///< kept of stdout and of stderr each; the rest is read and counted
  std::string stdin_text;
  /// Polled while it runs, at the latest when a signal came; true = it is killed, kind interrupted.
  std::function<bool()> stop;
};

struct CommandResult {
  Ending ending;
  bool timed_out = false;
  std::string out, err;
  std::uint64_t out_dropped = 0, err_dropped = 0; ///< bytes past capture_bytes
  std::int64_t wall_ns = 0;
  bool ok() const { return !timed_out && ending.exited && ending.code == 0; }
};

/// Runs a command to its end or deadline, with capped capture. An Error only when it could not be
/// started or was to stop.
Expected<CommandResult> run_command(const CommandOptions& options);

} // namespace ako::base
