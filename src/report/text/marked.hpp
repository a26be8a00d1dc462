// Files that ako and people write together.
//
//   file  = { text | block }
//   block = "<!-- ako:begin " name " -->" newline { line } "<!-- ako:end " name " -->" newline
//
// ako replaces what stands inside its blocks and adds blocks that are missing; everything outside
// is the people's and comes back byte for byte.
#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ako::report {

struct Block {
  std::string name; ///< letters, digits, - and _
  std::string text; ///< whole lines
};

/// `existing` with each block's text replaced. A missing block goes after the nearest earlier one
/// of `blocks` that is there, else to the end; blocks of other names stay as they are. In an empty
/// file, `heading` comes first. A marker without its partner, twice or inside another block: kind
/// invalid, naming the line; nothing should be written then.
base::Expected<std::string> merge_blocks(std::string_view existing,
                                         const std::vector<Block>& blocks, std::string_view heading,
                                         std::string_view where);

} // namespace ako::report
