#include "workspace/sweep.hpp"

#include "base/unfinished.hpp"

namespace ako::workspace {

namespace fs = base::fs;

namespace {

/// Links are not followed.
void sweep_below(const fs::path& folder) {
  base::sweep_unfinished(folder);
  std::error_code why;
  for (fs::directory_iterator walk(folder, why), end; !why && walk != end; walk.increment(why)) {
    std::error_code gone;
    const bool enters = walk->symlink_status(gone).type() == fs::file_type::directory &&
                        walk->path().filename() != ".git";
    if (enters) sweep_below(walk->path());
  }
}

} // namespace

void sweep_task(const Workdir& workdir) {
  base::sweep_unfinished(workdir.task());
  for (const fs::path& folder :
       {workdir.solution(), workdir.input(), workdir.bench(), workdir.context()})
    sweep_below(folder);
  if (const auto records = workdir.records()) base::sweep_unfinished(*records);
}

} // namespace ako::workspace
