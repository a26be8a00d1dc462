// The Python interpreter: which one, and what it has.
#pragma once

#include "lanes/lane.hpp"

namespace ako::lanes::triton {

/// python/ako_worker as it is installed or lies in the sources. Kind environment when it is
/// nowhere.
base::Expected<base::fs::path> worker_package();

/// `wanted` (kernel.compiler), $AKO_PYTHON, $VIRTUAL_ENV, $CONDA_PREFIX, python3 and python in
/// PATH. Kind environment for one that is missing, does not answer, or is none of CPython 3.10 and
/// newer.
base::Expected<Tool> find_interpreter(const std::string& wanted, const Surroundings& around,
                                      std::vector<std::string>* looked = nullptr);

/// Variables that change what an interpreter imports or where it finds compilers: "K=V".
std::vector<std::string> passed_on(const std::vector<std::string>& environment);

} // namespace ako::lanes::triton
