// The cuda lane: CUDA C++ and PTX, built by nvcc into a shared library with the runtime inside.
#pragma once

#include "lanes/native/unit.hpp"

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

/// The complete words for nvcc but input, output and architectures: the language, the contract's
/// flags, and what the lane adds (-lineinfo, ptxas' report, position-independent hidden code).
/// Kind invalid for flags that would change what is built.
base::Expected<std::vector<std::string>> flags_of(const native::Unit& unit);

} // namespace ako::lanes::cuda
