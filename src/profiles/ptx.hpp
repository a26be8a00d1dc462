// PTX as nvcc, NVRTC and Triton write it: what the compiler chose before ptxas allots registers.
#pragma once

#include "base/error.hpp"
#include "profiles/code.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

/// Kernels and functions that have a body. Instructions are counted by source line where the text
/// has .loc. invalid: no function in it.
base::Expected<std::vector<CodeFunction>> read_ptx(std::string_view text, const std::string& where);

} // namespace ako::profiles
