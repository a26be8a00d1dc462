// What the kernel is asked to forbid before a candidate is loaded. See docs on threats for what
// each part is for; whatever is missing is named, never fatal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ako::worker {

/// allowed: for what compiles while it runs, and starts assembler and linker for that.
enum class Processes { forbidden, allowed };

struct SandboxPlan {
  std::string scratch;                   ///< may be read and written
  std::vector<std::string> read_paths;   ///< beyond the system's libraries
  std::uint64_t file_bytes = 0;          ///< largest file it may write
  bool own_proc = false;                 ///< /proc shows the worker's namespace alone
  std::vector<std::string> device_paths; ///< device files: read, written and controlled
  std::vector<std::string> write_paths;  ///< folders besides `scratch`
  Processes processes = Processes::forbidden;
};

struct SandboxState {
  bool landlock = false, seccomp = false;
};

/// For this thread and all that it starts, for good.
SandboxState enter_sandbox(const SandboxPlan& plan);

bool restrict_files(const SandboxPlan& plan); ///< Landlock
/// seccomp; SIGSYS for what an honest kernel never does
bool restrict_system_calls(Processes processes = Processes::forbidden);

/// A second filter, when all that must be mapped is: the eviction buffer can be neither moved,
/// covered nor given back, no memory file loses pages, and no third filter comes.
enum class Eviction { none, mapped }; ///< whether a buffer lies at protocol::k_evict_address
bool seal_memory(Eviction eviction);

} // namespace ako::worker
