// The head of a guide or of a template's note, between two lines of ---: the part of YAML that
// tools/references/check.py reads too.
//
//   key: value            key: "value"            key: [a, b]
//   key:
//     - {inner: value, ...}                       left alone here
#pragma once

#include "base/error.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ako::guides {

struct FrontMatter {
  std::map<std::string, std::string> words;
  std::map<std::string, std::vector<std::string>> lists;
  std::size_t body = 0; ///< where the text behind it begins, in bytes

  std::string word(const std::string& key) const;
  std::vector<std::string> list(const std::string& key) const;
};

/// Kind invalid, `where` named, when the text has no head or a line of it is not understood.
base::Expected<FrontMatter> read_front_matter(std::string_view text, const std::string& where);

} // namespace ako::guides
