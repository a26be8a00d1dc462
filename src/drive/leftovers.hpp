// Processes that a turn leaves behind.
#pragma once

#include "base/error.hpp"

#include <string>

namespace ako::drive {

/// While it lives, who loses its parent below this process becomes its child: nothing that a turn
/// starts gets out of sight, whatever its environment, group or session.
class Subreaper {
public:
  Subreaper();
  ~Subreaper();
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;
};

/// Ends every process with `token` in its environment, everything below this process and all that
/// descend from them: stopped first, until a look finds nobody new, then killed and reaped, until
/// nobody is left. Returns how many there were. Kind environment when some are still there after
/// `seconds`: what they go on to edit cannot be judged.
base::Expected<int> end_leftovers(const std::string& token, double seconds = 10);

} // namespace ako::drive
