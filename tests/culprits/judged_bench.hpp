// Culprits through the whole judge: a task's folder with reference and baseline built once, a
// candidate file built by the lane as a user's would be, and evaluated with real processes.
#pragma once

#include "base/fs.hpp"
#include "evaluation/evaluate.hpp"
#include "loop/builds.hpp"
#include "loop/setup.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ako::culprits {

/// A file and what its first comment says. `source` is without that line.
struct Culprit {
  std::string expects, source;
};
Culprit read_culprit(const base::fs::path& path);

/// "chain/by_pointer" and "fork" (of the raw protocol), sorted; the names without ".cpp".
std::vector<std::string> all_culprits();
base::fs::path path_of(const std::string& name);

/// The file as the product gets it. Files of the raw protocol define ako_call; a function of the
/// task "flat" is put around them.
std::string as_candidate(const std::string& name, const Culprit& culprit);

class Bench {
public:
  /// Of the task in tests/culprits/cpu/<task>; made at the first call for it. Throws with words.
  static Bench& of(const std::string& task);
  /// Builds and evaluates. A measurement that the machine spoiled is taken again, most of all where
  /// the expectation hangs on it. The product sees nothing of `expects`.
  evaluation::Report judge(const std::string& source, const std::string& expects);

private:
  explicit Bench(const std::string& task);
  evaluation::Report judge_once(const std::string& source);

  base::TemporaryDir m_folder;
  workspace::Workdir m_workdir;
  model::Contract m_contract;
  std::vector<model::ResolvedShape> m_shapes;
  std::unique_ptr<loop::Builder> m_builder;
  loop::Sides m_sides;
  std::vector<inputs::Recipe> m_recipes;
};

/// Whether the report is what `expects` says: alternatives between " or ", each an outcome, "clean"
/// or "not improved";
/// ", second" = the second opinion must have found it. Words of the raw protocol stand for
/// outcomes. Empty = it is; otherwise what came instead.
std::string unlike(const std::string& expects, const evaluation::Report& report);

} // namespace ako::culprits
