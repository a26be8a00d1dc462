// How something is built, as values: a lane writes the plan, an executor carries it out, the lane
// reads what came of it.
#pragma once

#include "base/process.hpp"
#include "model/sources.hpp"

#include <functional>
#include <string>
#include <vector>

namespace ako::model {

/// Runs one command to its end or deadline. Injected wherever something outside is started, so that
/// tests and remote executors can stand in.
using CommandRunner =
    std::function<base::Expected<base::CommandResult>(const base::CommandOptions&)>;

/// One command. Its folder is the stage; `inputs` and `outputs` are relative to it.
struct BuildStep {
  std::string label; ///< "compile solution/rmsnorm.cpp"
  std::vector<std::string> argv;
  std::vector<std::string> inputs, outputs;
};

struct BuildPlan {
  std::string label;    ///< "candidate", "reference", "baseline:naive", ...
  base::Hash key;       ///< over everything known beforehand: sources, steps, tools, environment
  base::Hash snapshot;  ///< of the sources
  std::string task_dir; ///< its other folders are linked into the stage, so that headers are found
  std::vector<SourceText> files;     ///< written into the stage
  std::vector<BuildStep> steps;      ///< a step waits for those that make its inputs; a failure
                                     ///< ends the build
  std::vector<std::string> depfiles; ///< make rules that name every file that was read
  /// The same of the assembler, for what inline assembly reads; one that was not written names
  /// nothing.
  std::vector<std::string> assembler_depfiles;
  std::vector<std::string> system_dirs; ///< files below these belong to the tools, not to the task
  std::string library;                  ///< what is to be loaded, relative to the stage
  std::vector<std::string> environment; ///< "K=V", complete
  double deadline_seconds = 120;
  std::string tool_identity; ///< for the record
};

/// A file that the build read besides the staged ones.
struct BuildDependency {
  std::string path; ///< absolute, resolved
  base::Hash hash;
};

struct StepRun {
  std::string label;
  base::CommandResult result;
};

/// What came of a plan.
struct BuildRun {
  bool from_cache = false;
  std::string library_path; ///< in the cache; empty when a step failed or wrote nothing
  base::Hash library_hash, cache_key;
  std::vector<StepRun> steps;           ///< of this run, or as recorded when from the cache
  std::vector<BuildDependency> in_task; ///< files of the task that were read
  std::vector<std::string> outside;     ///< files that belong neither to the task nor to the tools
  std::vector<std::string> missing_tools; ///< argv[0] that could not be started
  double seconds = 0;
  std::string log_path; ///< everything the tools said, when it was not empty
};

} // namespace ako::model
