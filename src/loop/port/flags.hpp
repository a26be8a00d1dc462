// The flags that a kernel was measured with against those it is built with where it goes.
#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ako::loop {

/// Differences that can change what a kernel computes or how fast it is: optimisation, target,
/// floating point, language version, device architectures. "-O: measured -O3, target -O2".
std::vector<std::string> flag_differences(std::string_view measured, std::string_view target);

/// The command of a compile_commands.json for the file whose path ends with `path`. Kind invalid
/// when it has none.
base::Expected<std::string> compile_command(const std::string& json, const std::string& path);

} // namespace ako::loop
