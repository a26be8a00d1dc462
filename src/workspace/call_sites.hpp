// Where a symbol is defined, declared, launched, called and bound in a repository.
#pragma once

#include "base/error.hpp"
#include "base/fs.hpp"

#include <string>
#include <vector>

namespace ako::workspace {

struct Site {
  enum class Kind { definition, declaration, launch, call, binding, import, mention };
  Kind kind = Kind::mention;
  std::string file; ///< from the repository's root
  int line = 0;
  std::string text;     ///< the line
  std::string function; ///< around it, where that could be told
};
const char* to_string(Site::Kind kind);

/// C++, CUDA and Python files that git tracks; comments left out. Definitions first, then launches,
/// calls, bindings. Kind invalid: the symbol is nowhere; usage: no repository.
base::Expected<std::vector<Site>> find_sites(const base::fs::path& repository,
                                             const std::string& symbol);

} // namespace ako::workspace
