// The real stage: one keeper and a worker a side, each an ako-child process.
#pragma once

#include "evaluation/stage.hpp"
#include "model/artifact.hpp"
#include "model/device.hpp"

#include <filesystem>
#include <optional>

namespace ako::evaluation {

struct ChildStageOptions {
  const model::Contract* contract = nullptr;
  std::filesystem::path task_dir;
  std::filesystem::path child_program; ///< empty = found beside the running program
  std::optional<model::LaunchSpec> candidate, incumbent, reference;
  std::map<int, std::filesystem::path> custom_fills; ///< by tensor index
  std::vector<int> cores;                            ///< where workers run; empty = all of them
  std::optional<model::DeviceId> device; ///< where buffers lie and calls run; absent = the host
  std::filesystem::path cache_dir;       ///< for what is compiled for a device; empty = not kept
  client::Sandbox sandbox = client::Sandbox::full;
};

base::Expected<std::unique_ptr<Stage>> make_child_stage(const ChildStageOptions& options);

/// Makes a fresh stage (fresh processes) at every call.
StageFactory child_stage_factory(ChildStageOptions options);

} // namespace ako::evaluation
