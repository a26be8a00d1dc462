// What a lane is: it turns sources into a build plan, reads what came of the plan, and says how the
// result is loaded. It runs nothing itself but what its runner is asked for (--version, probes).
#pragma once

#include "base/error.hpp"
#include "base/fs.hpp"
#include "model/artifact.hpp"
#include "model/build_plan.hpp"
#include "model/outcome.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ako::lanes {

enum class Role { candidate, incumbent, reference, baseline };

/// "candidate", "incumbent", "reference", "baseline:<name>"
std::string label_of(Role role, const std::string& baseline);

/// The surroundings a lane may look at, so that tests can give others.
struct Surroundings {
  std::map<std::string, std::string> environment; ///< as in environ
  model::CommandRunner runner;
  base::fs::path memo_dir; ///< remembered tool identities; empty = none
  static Surroundings of_this_process(model::CommandRunner runner, base::fs::path memo_dir);
};

/// A tool that was looked for.
struct Tool {
  std::string path;                     ///< resolved
  std::vector<std::string> command;     ///< how it is called: {path} or {"ccache", path}
  std::string version;                  ///< first line of --version
  std::string identity;                 ///< version, hash, size and time of the binary
  std::string family;                   ///< "gcc", "clang", "unknown"
  std::vector<std::string> system_dirs; ///< where its own headers lie
  std::string chosen_by;                ///< "kernel.compiler", "CXX", "PATH"
};

/// What `ako doctor` shows of a lane.
struct Probe {
  bool works = false;
  std::string summary;             ///< one sentence
  std::vector<std::string> looked; ///< "g++ in PATH: /usr/bin/g++", "CXX: set but empty, ignored"
  std::optional<Tool> tool;
  std::string output; ///< what the tool said when it failed
  std::string next;
};

struct BuildRequest {
  const model::Contract* contract = nullptr;
  Role role = Role::candidate;
  std::string baseline; ///< its name, for Role::baseline
  model::Sources sources;
  base::fs::path task_dir;
  std::string device_architecture; ///< "sm_90": of the device it is to run on; empty = not known
};

/// A build that was carried out: an artifact, or why there is none.
struct BuildResult {
  std::optional<model::Artifact> artifact;
  model::Outcome outcome; ///< set when there is no artifact: build_failed, timeout, task_error,
                          ///< environment
  std::optional<base::Error> error;             ///< the one clear message behind it
  std::vector<model::CompilerMessage> messages; ///< errors first, then warnings; at most 50
  std::string log_path;                         ///< the whole of what the tools said
};

class LaneDriver {
public:
  virtual ~LaneDriver() = default;
  virtual model::Lane lane() const = 0;
  /// Finds the tools for this contract. Kind environment, listing what was looked for, when there
  /// are none.
  virtual base::Expected<Tool> find_tool(const model::Contract& contract,
                                         const Surroundings& around) const = 0;
  /// Values only. Kind invalid: a source or flag that cannot be.
  virtual base::Expected<model::BuildPlan> plan(const BuildRequest& request, const Tool& tool,
                                                const Surroundings& around) const = 0;
  virtual BuildResult read(const BuildRequest& request, const model::BuildPlan& plan,
                           const model::BuildRun& run) const = 0;
  virtual model::LaunchSpec launch_spec(const BuildRequest& request,
                                        const model::Artifact& artifact) const = 0;
  /// Compiles a five-line file in `scratch` and says what was looked for, where, and what was
  /// found. `compiler` empty = the lane's default.
  virtual Probe probe(const std::string& compiler, const Surroundings& around,
                      const base::fs::path& scratch) const = 0;
  /// The stand-alone microbench bench/bench_<kernel>.*, as text. The first line of the text says
  /// how it is compiled.
  virtual base::Expected<model::SourceText> microbench(const model::Contract& contract) const = 0;
};

} // namespace ako::lanes
