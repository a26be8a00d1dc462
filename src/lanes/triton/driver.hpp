// The triton lane: Python functions that launch Triton kernels; and, as references and baselines of
// any lane, functions over torch tensors or numpy arrays.
#pragma once

#include "lanes/native/unit.hpp"

namespace ako::lanes::triton {

class Driver final : public LaneDriver {
public:
  model::Lane lane() const override { return model::Lane::triton; }
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

/// What was compiled, tuned and how long it took, of an artifact's resources; empty when nothing is
/// known of it.
std::string resource_text(const base::Json& report);

} // namespace ako::lanes::triton
