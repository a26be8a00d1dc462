// Words as shells read them.
#pragma once

#include <string>

namespace ako::base {

/// A word as somebody would type it: in quotes where it needs them.
std::string shell_word(const std::string& word);

} // namespace ako::base
