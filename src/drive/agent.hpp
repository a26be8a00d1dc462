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
  base::fs::path printed;           ///< where what it prints goes, out of its reach
  std::string prompt;
  std::int64_t number = 0;
  std::string token; ///< in its environment: finds what it leaves running
  double deadline_seconds = 900;
  bool landlock = true;
  bool alone = false; ///< in a pid namespace: what it starts ends with it, and with this process
  std::function<bool()> stop;
};

struct Printed {
  std::string out, err; ///< their last parts
};
/// What a turn printed so far, also when its driver was killed.
Printed printed_in(const base::fs::path& folder);

struct Heard { ///< how it ended and what it printed
  base::Ending ending;
  bool timed_out = false;
  double seconds = 0;
  Printed printed;
  int left_running = 0; ///< processes that had to be ended after it; set by whoever did
};

/// Kind interrupted when `stop` said so; environment when it could not be started. What it leaves
/// running is for end_leftovers().
base::Expected<Heard> run_agent(const Adapter& adapter, const Turn& turn);

/// What an agent says about its change, line by line ("Hypothesis: ..."), the last of each counts.
struct Said {
  std::string hypothesis, prediction, cites, direction, done;
  std::optional<double> predicted_gain; ///< 0.05 = 5 %
};
Said read_answer(const std::string& out);

/// The money that a turn cost, by the pattern or by the tokens of `codex exec --json`; nothing
/// where none was printed.
std::optional<double> read_money(const Money& money, const std::string& text);

} // namespace ako::drive
