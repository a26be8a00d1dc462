// The build cache on disk; its layout stands in build.hpp.
#pragma once

#include "base/fs.hpp"
#include "executors/stage.hpp"
#include "model/build_plan.hpp"

#include <optional>

namespace ako::executors {

class BuildCache {
public:
  BuildCache(base::fs::path dir, const model::BuildPlan& plan);
  /// A run whose every input is what it was; nothing when there is none.
  std::optional<model::BuildRun> find() const;
  /// Keeps the library and the record of the run; fills library_path, library_hash, cache_key,
  /// log_path.
  base::Status keep(const base::fs::path& library, const Dependencies& dependencies,
                    model::BuildRun& run) const;
  /// Keeps what the tools said; fills log_path when they said anything.
  base::Status keep_log(model::BuildRun& run) const;

private:
  std::optional<model::BuildRun> read_manifest(const base::fs::path& manifest) const;
  const model::BuildPlan& m_plan;
  base::fs::path m_entry;
};

} // namespace ako::executors
