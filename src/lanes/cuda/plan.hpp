// Planning and reading for every lane that nvcc builds: cuda itself, and those that add to it.
#pragma once

#include "lanes/cuda/features.hpp"
#include "lanes/native/unit.hpp"

#include <functional>

namespace ako::lanes::cuda {

/// kernel.architectures, or the device's own, with the suffix that the sources need. Kind
/// unsupported when nothing names one, or when none of them runs on the device.
base::Expected<std::vector<Architecture>> architectures_of(const BuildRequest& request);

/// What a lane that is built by nvcc as well has otherwise.
struct Dialect {
  model::Lane lane = model::Lane::cuda;
  std::string standard = "-std=c++20"; ///< where the unit's flags name none
  std::vector<std::string> words;      ///< further words for every compilation
};

/// The complete words for nvcc but input, output and architectures: the language, the contract's
/// flags, and what the lane adds (-lineinfo, ptxas' report, position-independent hidden code).
/// Kind invalid for flags that would change what is built.
base::Expected<std::vector<std::string>> flags_of(const native::Unit& unit, const Dialect& dialect);

base::Expected<model::BuildPlan> plan_in(const Dialect& dialect, const BuildRequest& request,
                                         const Tool& tool, const Surroundings& around);
base::Expected<model::SourceText> microbench_in(const Dialect& dialect,
                                                const model::Contract& contract);

/// `explain` is asked before the cuda lane's own words.
BuildResult read_in(model::Lane lane,
                    const std::function<std::optional<base::Error>(const std::string&)>& explain,
                    const BuildRequest& request, const model::BuildPlan& plan,
                    const model::BuildRun& run);

} // namespace ako::lanes::cuda
