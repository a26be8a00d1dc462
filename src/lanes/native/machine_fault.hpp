// Faults of the machine that look like the compiler's.
#pragma once

#include "base/error.hpp"
#include "model/artifact.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ako::lanes::native {

/// No space, no memory, no compiler proper: by what the tools say of themselves alone. Quoted lines
/// and messages about a place in a source do not count, whatever words stand there; `messages` are
/// those of the same text.
std::optional<base::Error> machine_fault(std::string_view said,
                                         const std::vector<model::CompilerMessage>& messages);

/// What follows a tool's name in a line in which it speaks of itself; nothing for quoted lines and
/// messages about a place in a source.
std::optional<std::string_view> said_of_itself(std::string_view row);

} // namespace ako::lanes::native
