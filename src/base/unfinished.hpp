// What write_file_atomic() leaves behind when its process is killed before the rename.
#pragma once

#include "base/fs.hpp"

namespace ako::base {

/// Removes such files from `folder`, not from folders below it; what a living process is writing
/// stays. Returns how many were removed.
int sweep_unfinished(const fs::path& folder);

} // namespace ako::base
