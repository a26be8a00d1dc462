// How compute-sanitizer and cuda-gdb are called on one plain launch, and what their failures mean.
// Values only: who runs the commands is another matter (loop/faults.hpp).
#pragma once

#include "base/error.hpp"
#include "base/process.hpp"
#include "profiles/backtrace.hpp"
#include "profiles/sanitizer.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

enum class FaultTool {
  memcheck,  ///< accesses outside and misaligned, exceptions of the device
  racecheck, ///< shared memory used by two threads without order
  synccheck, ///< barriers that not all reach
  initcheck, ///< memory that is read before it is written
  debugger   ///< cuda-gdb: where it stopped, frame by frame
};
const char* to_string(FaultTool tool);

struct FaultJob {
  std::string program; ///< compute-sanitizer, or cuda-gdb
  FaultTool tool = FaultTool::memcheck;
  std::vector<std::string> target; ///< command line of one plain launch
  std::filesystem::path folder;    ///< private to this job

  std::filesystem::path log() const { return folder / (std::string(to_string(tool)) + ".txt"); }
};

/// Messages into job.log(), and no more of them than somebody reads; the debugger prints to stdout.
std::vector<std::string> fault_argv(const FaultJob& job);

/// What the tool said: job.log()'s content where the tool writes one, else what it printed.
std::string_view said_by(const FaultJob& job, const base::CommandResult& result,
                         std::string_view log);

/// timeout: it did not end; environment: it said nothing of its own.
base::Status judge_fault_run(const FaultJob& job, const base::CommandResult& result,
                             std::string_view said);

} // namespace ako::profiles
