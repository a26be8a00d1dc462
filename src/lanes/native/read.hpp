// From what came of a plan to an artifact, or to the one message that says why there is none.
#pragma once

#include "lanes/lane.hpp"

#include <functional>

namespace ako::lanes::native {

/// A broken candidate is the candidate's fault; a broken reference or baseline the task's.
model::OutcomeKind kind_for(Role role);

void set_failure(BuildResult& result, model::OutcomeKind kind, base::Error error);

/// What a step wrote, on both streams.
std::string said_by(const model::StepRun& step);

/// What a lane adds to the reading of a failed run.
struct Words {
  model::Lane lane = model::Lane::cpu;
  std::string remedy; ///< where another compiler is named
  /// The one clear message for what the lane's tools said; nothing = the general reading. Kind
  /// environment = the machine's fault.
  std::function<std::optional<base::Error>(const std::string& said)> explain;
};

BuildResult read_run(const BuildRequest& request, const model::BuildPlan& plan,
                     const model::BuildRun& run, const Words& lane);

model::LaunchSpec launch_spec_of(const BuildRequest& request, const model::Artifact& artifact,
                                 model::Lane lane);

} // namespace ako::lanes::native
