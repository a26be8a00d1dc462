// How wide a change is, and whether it was tried before. Pure.
#pragma once

#include "base/hash.hpp"
#include "model/sources.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ako::loop {

struct ChangeWidth {
  std::vector<std::string> files, functions; ///< functions as git names them, "file: signature"
  int added = 0, removed = 0, hunks = 0;     ///< lines
  /// "2 files, 3 functions, 40 lines"
  std::string text() const;
};

/// Of a git diff.
ChangeWidth width_of(std::string_view diff);

/// One idea rarely touches more than this: a sentence that says what is wide about it, or nothing.
std::string wider_than_one_idea(const ChangeWidth& width);

/// The sources without comments, white space and blank lines: equal for attempts that differ in
/// nothing that a compiler sees. Paths count.
base::Hash normalised_hash(const model::Sources& sources);

} // namespace ako::loop
