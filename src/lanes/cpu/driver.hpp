// The cpu lane: C++ on the host, built into a shared library by the user's compiler.
#pragma once

#include "lanes/native/unit.hpp"

namespace ako::lanes::cpu {

class Driver final : public LaneDriver {
public:
  model::Lane lane() const override { return model::Lane::cpu; }
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

/// The complete compiler flags of a unit: the language, the contract's, and what the lane adds.
/// Without any optimisation flags of the contract's: -O3 -march=native (-O2 for a reference, whose
/// answer must not depend on the machine). Kind invalid for flags that would change what is built.
base::Expected<std::vector<std::string>> flags_of(const native::Unit& unit, Role role);

} // namespace ako::lanes::cpu
