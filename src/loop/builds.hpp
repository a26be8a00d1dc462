// From a role in the contract to something a worker can load.
#pragma once

#include "executors/build.hpp"
#include "lanes/lane.hpp"
#include "loop/session.hpp"
#include "model/sources.hpp"

#include <functional>
#include <future>
#include <mutex>
#include <string>

namespace ako::loop {

/// One side, built.
struct Built {
  model::Sources sources;
  model::Artifact artifact;
  model::LaunchSpec spec;
  std::string label;
  std::vector<model::SourceFile> headers{}; ///< further files of the task that the build read
};

/// What a tensor with fill recorded or custom is filled from.
struct FillFile {
  int index = 0; ///< of the tensor
  std::string tensor;
  base::fs::path library;              ///< custom: what the keeper loads
  std::vector<model::SourceFile> read; ///< of the task; without a hash where nothing was built
};

/// What came of a build: built, or why not.
struct BuildOutcome {
  std::optional<Built> built;
  lanes::BuildResult result;
  model::Sources sources{}; ///< not built: what was to be
};

/// Its functions may be called from several threads at once: builds of several sides run together.
class Builder {
public:
  /// `device_architecture`: "sm_90" of the device that calls run on; empty = not known, or the
  /// host.
  Builder(const workspace::Workdir& workdir, const model::Contract& contract,
          std::string device_architecture = {});

  /// Sources as they stand in the task. `extra_flags` go behind the contract's.
  base::Expected<BuildOutcome> candidate(const std::vector<std::string>& extra_flags = {});
  base::Expected<BuildOutcome> reference();
  base::Expected<BuildOutcome> baseline(const std::string& name);
  /// Given sources in the candidate's place: a kept incumbent, a canary.
  base::Expected<BuildOutcome> from_sources(model::Sources sources, lanes::Role role,
                                            const std::vector<std::string>& extra_flags = {});
  /// The same under another [kernel] than the contract's: of an earlier lane, of a target's
  /// library.
  base::Expected<BuildOutcome> from_kernel(model::Sources sources, lanes::Role role,
                                           const model::Kernel& kernel);
  /// Builds what custom fills are written in; kind invalid, naming the fill, where that fails.
  base::Expected<std::vector<FillFile>> fills();
  /// "g++ (Debian 12.2.0) 12.2.0" of the contract's lane; empty when there is none.
  std::string compiler() const;

private:
  /// Kind interrupted when the user asked to stop, whatever came of it.
  base::Expected<BuildOutcome> build(model::Lane lane, lanes::BuildRequest request);
  base::Expected<BuildOutcome> build_to_the_end(model::Lane lane, lanes::BuildRequest request);
  base::Status build_fill(const model::Tensor& tensor, FillFile& fill);

  const workspace::Workdir& m_workdir;
  const model::Contract& m_contract;
  std::string m_architecture;
  mutable std::mutex m_mutex;
  std::string m_compiler; ///< under m_mutex
};

/// Begins a build in a thread of its own.
std::future<base::Expected<BuildOutcome>>
begin_build(std::function<base::Expected<BuildOutcome>()> build);

/// The built side, or its outcome's one clear message as an Error: for sides that are not the
/// candidate's, whose failure is the task's.
base::Expected<Built> must_build(base::Expected<BuildOutcome> outcome);

} // namespace ako::loop
