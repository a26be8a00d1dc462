#include "profiles/fault_run.hpp"

#include <fmt/format.h>

namespace ako::profiles {

using base::ErrorKind;

const char* to_string(FaultTool tool) {
  switch (tool) {
  case FaultTool::memcheck: return "memcheck";
  case FaultTool::racecheck: return "racecheck";
  case FaultTool::synccheck: return "synccheck";
  case FaultTool::initcheck: return "initcheck";
  case FaultTool::debugger: return "cuda-gdb";
  }
  return "?";
}

std::vector<std::string> fault_argv(const FaultJob& job) {
  std::vector<std::string> argv;
  if (job.tool == FaultTool::debugger) {
    // Nobody's .gdbinit, no question, no list of threads that come and go.
    argv = {job.program, "--batch", "-nx", "-q"};
    for (const char* word :
         {"set pagination off", "set confirm off", "set width 0", "set print thread-events off",
          "set print inferior-events on", "run", "bt 64"})
      argv.insert(argv.end(), {"-ex", word});
    argv.emplace_back("--args");
  } else {
    argv = {job.program,        "--tool", to_string(job.tool),  "--print-limit", "200",
            "--show-backtrace", "device", "--target-processes", "all",           "--log-file",
            job.log().string()};
    // Gaps between allocations: what runs past one would else land in its neighbour unseen.
    if (job.tool == FaultTool::memcheck) argv.insert(argv.end(), {"--padding", "256"});
    if (job.tool == FaultTool::racecheck)
      argv.insert(argv.end(), {"--racecheck-report", "analysis"});
  }
  argv.insert(argv.end(), job.target.begin(), job.target.end());
  return argv;
}

std::string_view said_by(const FaultJob& job, const base::CommandResult& result,
                         std::string_view log) {
  if (job.tool == FaultTool::debugger) return result.out;
  return log.find_first_not_of(" \t\r\n") == std::string_view::npos ? result.out : log;
}

base::Status judge_fault_run(const FaultJob& job, const base::CommandResult& result,
                             std::string_view said) {
  if (result.timed_out)
    return base::fail(ErrorKind::timeout, "it did not end in time",
                      {.where = fmt::format("{} ({})", job.program, to_string(job.tool)),
                       .found = fmt::format("{:.0f} s", double(result.wall_ns) / 1e9),
                       .allowed = {},
                       .next = "run it by hand on a smaller shape"});
  if (said.find_first_not_of(" \t\r\n") != std::string_view::npos) return {};
  return base::fail(ErrorKind::environment, "it ended without a word",
                    {.where = fmt::format("{} ({})", job.program, to_string(job.tool)),
                     .found = result.ending.text() + " " + result.err.substr(0, 300),
                     .allowed = {},
                     .next = "run the command by hand: it is in the record"});
}

} // namespace ako::profiles
