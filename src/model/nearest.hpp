// "did you mean": the nearest of some known words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ako::model {

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`; case does not count.
int edit_distance(std::string_view a, std::string_view b);

/// The known word with the fewest edits, where they are few enough to be a slip; empty otherwise.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// "did you mean 'dtype'?", or empty.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

/// "a, b, c"
std::string join(const std::vector<std::string>& words);

} // namespace ako::model
