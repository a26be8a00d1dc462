// The cuda lane: CUDA C++ and PTX, built by nvcc into a shared library with the runtime inside.
#pragma once

#include "lanes/lane.hpp"

namespace ako::lanes::cuda {

class Driver final : public LaneDriver {
public:
  model::Lane lane() const override { return model::Lane::cuda; }
  base::Expected<Tool> find_tool(const model::Contract& contract,
                                 const Surroundings& around) const override;
  base::Expected<model::BuildPlan> plan(const BuildRequest& request, const Tool& tool,
                                        const Surroundings& around) const override;
  BuildResult read(const BuildRequest& request, const model::BuildPlan& plan,
                   const model::BuildRun& run) const override;
  model::LaunchSpec launch_spec(const BuildRequest& request,
                                const model::Artifact& artifact) const override;
  Probe probe(const std::string& compiler, const Surroundings& around,
              const base::fs::path& scratch) const override;
  base::Expected<model::SourceText> microbench(const model::Contract& contract) const override;
};

} // namespace ako::lanes::cuda
