// The folder a build runs in: the staged files themselves, the rest of the task by links.
#pragma once

#include "base/fs.hpp"
#include "model/build_plan.hpp"

namespace ako::executors {

class Stage {
public:
  static base::Expected<Stage> make(const model::BuildPlan& plan);
  const base::fs::path& root() const { return m_root; }
  base::fs::path temporary() const { return m_dir.path() / "tmp"; }

private:
  explicit Stage(base::TemporaryDir dir) : m_dir(std::move(dir)), m_root(m_dir.path() / "task") {}
  base::TemporaryDir m_dir;
  base::fs::path m_root;
};

/// What the build read, by whom it belongs. `state` of the tools' files is over name, size and
/// time.
struct Dependencies {
  std::vector<model::BuildDependency> in_task; ///< resolved, sorted, without the staged files
  std::vector<std::string> outside, tools;     ///< resolved, sorted
};

base::Expected<Dependencies> sort_dependencies(const model::BuildPlan& plan, const Stage& stage);

/// Changes when one of the files is touched or replaced.
base::Hash state_of(const std::vector<std::string>& files);

} // namespace ako::executors
