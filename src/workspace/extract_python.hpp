// A Python function taken out of a repository with what it needs of it.
#pragma once

#include "workspace/extract.hpp"

namespace ako::workspace {

bool is_python_file(const std::string& path);

/// The definitions that the function needs, transitively and across the repository's modules, as
/// modules that lie beside each other; what comes from elsewhere stays an import. Python itself
/// reads the sources; nothing of them is run. Kind invalid: no such function, a kernel that no
/// function of its file launches, a file that is not Python. Kind environment: no interpreter.
base::Expected<Extracted> extract_python(const base::fs::path& repository,
                                         const ExtractRequest& request);

/// Commit and origin of the repository.
void record_origin(const base::fs::path& repository, Extracted& extracted);

} // namespace ako::workspace
