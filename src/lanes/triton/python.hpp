// Planning and reading for every lane of Python files: triton itself, and those that add to it.
#pragma once

#include "lanes/lane.hpp"

namespace ako::lanes::triton {

/// kernel.compiler names the interpreter where the contract's kernel is of `lane`.
base::Expected<Tool> find_tool_in(model::Lane lane, const model::Contract& contract,
                                  const Surroundings& around);
base::Expected<model::BuildPlan> plan_in(model::Lane lane, const BuildRequest& request,
                                         const Tool& tool, const Surroundings& around);
BuildResult read_in(model::Lane lane, const BuildRequest& request, const model::BuildPlan& plan,
                    const model::BuildRun& run);
model::LaunchSpec launch_spec_in(model::Lane lane, const BuildRequest& request,
                                 const model::Artifact& artifact);

} // namespace ako::lanes::triton
