// One line of `ako doctor`.
#pragma once

#include <string>
#include <vector>

namespace ako::cli {

struct Finding {
  std::string what, state, detail, next;
};

/// Devices, the libraries that are found at run time, and the tools beside them, as ako-child sees
/// them: what is missing comes with its reason and the remedy.
void add_device_findings(std::vector<Finding>& out);

} // namespace ako::cli
