// Looking for compilers, asking them, and remembering what they answered.
#pragma once

#include "lanes/lane.hpp"

namespace ako::lanes::native {

inline constexpr double k_ask_seconds = 20;

/// A variable of the surroundings; empty when it is not set.
std::string variable(const Surroundings& around, const std::string& name);
/// The file that `name` means: itself when it holds a slash, else the first in PATH; empty when
/// there is none.
std::string locate(const std::string& name, const Surroundings& around);
std::vector<std::string> words(const std::string& text);

/// Runs a tool with a few words; the deadline is k_ask_seconds.
base::Expected<base::CommandResult> ask(const std::vector<std::string>& command,
                                        const std::vector<std::string>& args,
                                        const Surroundings& around);

/// The folders between "search starts here" and "End of search list" of -E -v.
std::vector<std::string> search_dirs(const std::string& text);

/// Everything the answer of a compiler's --version depends on, cheap to look at.
std::string stamp_of(const std::vector<std::string>& command, const Surroundings& around);
std::optional<Tool> recall(const base::fs::path& memo, const std::string& stamp);
void remember(const base::fs::path& memo, const std::string& stamp, const Tool& tool);

/// Environment for compilers: LC_ALL=C, own TMPDIR, without what would change the answer.
std::vector<std::string> compiler_environment(const Surroundings& around);

} // namespace ako::lanes::native
