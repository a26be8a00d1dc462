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

/// Where a lane's files lie and how their names end.
struct Shelf {
  model::Lane lane = model::Lane::cpu;
  base::fs::path folder;
  std::string ending;
};
const Shelf& cpu_shelf();
const Shelf& cuda_shelf();

/// A file and what its first comment, of one line or several, says. `source` is without it.
struct Culprit {
  std::string expects, source;
};
Culprit read_culprit(const base::fs::path& path);

/// "chain/by_pointer" and "fork" (of the raw protocol), sorted; the names without their ending.
std::vector<std::string> all_culprits(const Shelf& shelf);
base::fs::path path_of(const Shelf& shelf, const std::string& name);
/// The folder of the task that it is a kernel of.
std::string task_of(const std::string& name);

/// The file as the product gets it. Files of the raw protocol define ako_call; a function of the
/// task "flat" is put around them.
std::string as_candidate(const std::string& name, const Culprit& culprit);

/// A task's folder and what builds its files; needs no device.
class Workshop {
public:
  Workshop(const Shelf& shelf, const std::string& task, const loop::Target& target);
  base::Expected<loop::BuildOutcome> candidate(const std::string& source);
  loop::Built plain(), reference();
  const workspace::Workdir& workdir() const { return m_workdir; }
  const model::Contract& contract() const { return m_contract; }
  const std::vector<model::ResolvedShape>& shapes() const { return m_shapes; }

private:
  base::TemporaryDir m_folder;
  workspace::Workdir m_workdir;
  model::Contract m_contract;
  std::vector<model::ResolvedShape> m_shapes;
  std::unique_ptr<loop::Builder> m_builder;
};

class Bench {
public:
  /// Of the task in the shelf's folder <task>; made at the first call for it. Throws with words.
  static Bench& of(const Shelf& shelf, const std::string& task, const loop::Target& target);
  /// Builds and evaluates. A measurement that the machine spoiled is taken again.
  evaluation::Report judge(const std::string& source);
  /// A candidate against the task's plain kernel, or against another.
  loop::Sides sides(const std::string& candidate);
  evaluation::Report judge(const loop::Sides& sides);
  Workshop& workshop() { return m_workshop; }

private:
  Bench(const Shelf& shelf, const std::string& task, const loop::Target& target);
  loop::Target m_target;
  Workshop m_workshop;
  loop::Sides m_sides; ///< plain on both
  std::vector<inputs::Recipe> m_recipes;
};

/// The machine was too busy to measure on: it shows nothing, neither for nor against the file. An
/// invalid measurement that a guard decided is not meant.
bool spoiled(const evaluation::Report& report);

/// Whether evidence alone decides all that `expects` names: nothing hangs on a time that was
/// measured, or on a win that must come before.
bool decided_unmeasured(const std::string& expects);

/// Whether the report is what `expects` says: alternatives between " or ", each an outcome,
/// "clean", "gain below N %" or "not improved"; " (guard)" behind it: that guard, or that ending of
/// the worker, is among its evidence, and decided where the outcome is one that evidence decides;
/// ", second" = the second opinion must have found it. Words of the raw protocol stand for such.
/// Empty = it is; otherwise what came instead, as for every spoiled measurement.
std::string unlike(const std::string& expects, const evaluation::Report& report);

} // namespace ako::culprits
