// Carries out a build plan, or finds that it was carried out before.
//
// The cache:  <dir>/<first two digits>/<plan key>/manifest-N.json  lists every file of the task
// that the build read with its hash, and the library's name and hash;  <dir>/<first two
// digits>/<plan key>/lib-<hash>.so.  A manifest counts when every file it lists has the recorded
// content now. Entries are written to a temporary name and renamed, so any number of processes may
// share the cache.
#pragma once

#include "base/fs.hpp"
#include "model/build_plan.hpp"

namespace ako::executors {

struct BuildOptions {
  base::fs::path cache_dir; ///< made when missing
  model::CommandRunner runner;
  enum class Cache { use, ignore } cache = Cache::use;
  /// All commands of the plan together; the plan's own deadline holds as well.
  base::Deadline deadline = base::Deadline::never();
};

/// An Error when nothing could be tried: no space, no permission, no such cache folder. A compiler
/// that is missing, fails, hangs or writes nothing is in the result, for the lane to read.
base::Expected<model::BuildRun> run_build(const model::BuildPlan& plan,
                                          const BuildOptions& options);

/// The prerequisites of a make rule file as -MD writes it ("a.o: b.cpp dir\ with\ space/c.h \").
std::vector<std::string> read_depfile(std::string_view text);

} // namespace ako::executors
