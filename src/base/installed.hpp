// What comes with the program besides itself.
#pragma once

#include "base/fs.hpp"

namespace ako::base {

/// A file or folder of share/ako beside the program's bin/, or as it lies in the sources that a
/// build was made from. Kind environment when it is in neither.
Expected<fs::path> find_installed(const fs::path& relative);

} // namespace ako::base
