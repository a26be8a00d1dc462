// Words that git writes and reads.
#pragma once

#include <string>
#include <vector>

namespace ako::workspace {

/// The lines without their ends, empty ones too; the last needs no end.
std::vector<std::string> lines_of(const std::string& text);

/// A path as git fast-import and ls-tree write it inside double quotes.
std::string quoted_path(const std::string& path);

} // namespace ako::workspace
