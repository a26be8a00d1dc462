// What CUTLASS' template errors mean, and what its sources are known to get wrong in silence.
#pragma once

#include "lanes/cutlass/headers.hpp"

namespace ako::lanes::cutlass {

/// The one clear message for a failed compilation; nothing = not known. `version` of the headers.
std::optional<base::Error> explain(const std::string& said, const std::string& version);

/// Compiles and does other than it says: shared memory that the stages leave no room for, waits on
/// a dependent launch that a define must switch on. Places in the candidate's own text.
std::vector<model::CompilerMessage> notices(const model::Sources& sources,
                                            const std::vector<std::string>& flags);

/// Template arguments nested more than two deep become "...", in text of more than 200 characters.
std::string shortened(const std::string& text);

} // namespace ako::lanes::cutlass
