// Which Python interpreter is meant. The one place that knows the order.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ako::base {

struct PythonChoice {
  std::string program;   ///< a path, or a name to be looked up in PATH
  std::string chosen_by; ///< "AKO_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX" or "PATH"
};

/// Only the one that $AKO_PYTHON names where it is set; else bin/python of the first of
/// $VIRTUAL_ENV and $CONDA_PREFIX that has one (a folder may hold other tools alone); else python3
/// and python of PATH, the better first. `variable` answers "" for one that is not set.
std::vector<PythonChoice> python_choices(const std::function<std::string(const char*)>& variable,
                                         const std::function<bool(const std::string&)>& is_program);

/// The first of them for this process's own environment.
PythonChoice own_python();

} // namespace ako::base
