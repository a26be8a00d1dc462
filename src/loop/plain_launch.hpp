// One plain call of a built side in a process of its own (ako-launch): what profilers, sanitizers
// and debuggers are given to look at.
#pragma once

#include "base/fs.hpp"
#include "loop/builds.hpp"
#include "loop/session.hpp"

#include <string>
#include <vector>

namespace ako::loop {

struct LaunchRequest {
  std::string shape;                       ///< tag: of the contract, an edge or a hidden shape
  std::uint64_t seed = 1, hidden_seed = 0; ///< hidden_seed: hidden shapes were drawn from it
  std::int64_t warmup = 0, calls = 1;
  std::string device{}; ///< UUID; empty: the first that is visible
};

/// unsupported: a Python side is not launched on its own.
base::Status can_be_launched(const Built& built, const model::Contract& contract);

/// The command holds while this lives: its job lies in a folder that goes with it.
class PlainLaunch {
public:
  /// invalid: no such shape. environment: no launcher.
  static base::Expected<PlainLaunch> of(const Session& session, const Built& built,
                                        const LaunchRequest& request);
  std::vector<std::string> command() const {
    return {m_launcher.string(), (m_folder.path() / "job.json").string()};
  }

private:
  explicit PlainLaunch(base::TemporaryDir folder) : m_folder(std::move(folder)) {}
  base::TemporaryDir m_folder;
  base::fs::path m_launcher;
};

/// task.toml with one more [[shape]], tagged `tag`.
std::string with_shape(const std::string& toml, const model::ShapeCase& shape,
                       const std::string& tag);

} // namespace ako::loop
