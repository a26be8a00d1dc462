// One turn of an agent: its command, run in the task with a deadline, and what it said.
#pragma once

#include "base/process.hpp"
#include "drive/campaign.hpp"

#include <functional>
#include <string>
#include <vector>

namespace ako::drive {

/// How a kind of agent is started without a terminal. The prompt comes on stdin.
struct Adapter {
  std::string name;
  std::vector<std::string> argv;
  std::vector<std::string> own_folders; ///< where it keeps its state: writable too
  std::string money_pattern;            ///< of what it prints; empty = none
};
/// "claude" and "codex" by their headless modes; anything else is a command for /bin/sh.
Adapter adapter_for(const std::string& command);

struct Turn {
  base::fs::path task;              ///< where it runs
  std::vector<base::fs::path> free; ///< absolute: what it may write
  base::fs::path scratch;           ///< its $TMPDIR; made by the caller
  std::string prompt;
  std::int64_t number = 0;
  std::string token; ///< in its environment: finds what it leaves running
  double deadline_seconds = 900;
  bool landlock = true;
  std::function<bool()> stop;
};

struct Heard { ///< how it ended and what it printed
  base::Ending ending;
  bool timed_out = false;
  double seconds = 0;
  std::string out, err; ///< their last parts
  int left_running = 0; ///< processes that had to be ended after it
};

/// Kind interrupted when `stop` said so; environment when it could not be started.
base::Expected<Heard> run_agent(const Adapter& adapter, const Turn& turn);

/// Ends every process with `token` in its environment, and (when asked for) what was handed to this
/// process by dying parents. Returns how many there were.
int end_leftovers(const std::string& token);

/// What an agent says about its change, line by line ("Hypothesis: ..."), the last of each counts.
struct Said {
  std::string hypothesis, prediction, cites, direction, done;
  std::optional<double> predicted_gain; ///< 0.05 = 5 %
};
Said read_answer(const std::string& out);

/// The money that a turn cost, by the pattern; nothing where none was printed.
std::optional<double> read_money(const Money& money, const std::string& text);

} // namespace ako::drive
