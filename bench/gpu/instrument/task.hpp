// The task that the instrument is held against: RMSNorm over rows of 4096 bfloat16, its libraries
// built beforehand, and a stage over them on a real device.
#pragma once

#include "evaluation/child_stage.hpp"
#include "evaluation/request.hpp"

#include <filesystem>
#include <string>

namespace ako::bench {

struct Task {
  std::filesystem::path libraries; ///< folder: rmsnorm.so, reference.so, rmsnorm_<cycles>.so
  std::string uuid;
  model::Contract contract;
  std::vector<model::ResolvedShape> shapes;
};

/// `rows`: one shape each. `cache`: "cold" or "warm".
base::Expected<Task> make_task(const std::filesystem::path& libraries, const std::string& uuid,
                               const std::vector<int>& rows, const std::string& cache,
                               double min_gain);
model::LaunchSpec library(const Task& task, const std::string& name, const std::string& label);
base::Expected<std::unique_ptr<evaluation::Stage>>
make_stage(const Task& task, const std::string& incumbent, const std::string& candidate);
evaluation::ChildStageOptions stage_options(const Task& task, const std::string& incumbent,
                                            const std::string& candidate);
/// The first device that `ako-child devices` names.
base::Expected<std::string> first_device();

} // namespace ako::bench
