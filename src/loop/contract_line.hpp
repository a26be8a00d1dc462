// A contract in one line, for `ako compare`:
//   contract = name "(" arg {"," arg} ")" [ "@" shape {";" shape} ]
//   arg      = name ":" ["in" | "out" | "inout" | "static"] dtype "[" [extent {"," extent}] "]"
//            | name ":" dtype "=" number              a scalar
//            | name                                   an axis
//   shape    = name "=" integer {name "=" integer}
// Example: rmsnorm(x: bfloat16[M,H], w: bfloat16[H], y: out bfloat16[M,H], M, H, eps: float32=1e-5)
//          @ M=1 H=4096; M=512 H=4096
// A tensor without a role is an input. Extents are expressions over axes; names in them that no
// argument declares become axes too.
#pragma once

#include "base/error.hpp"
#include "model/contract.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ako::loop {

struct LineFiles {
  std::string entry_file;     ///< task-relative
  std::string reference_file; ///< task-relative; the same symbol is looked up in it
  std::string baseline_file;
  std::string precision = "native"; ///< of the reference
  model::Lane lane = model::Lane::cpu;
};

/// The task.toml that a line stands for, and where each of its lines comes from.
struct ExpandedLine {
  std::string toml;
  std::vector<std::string> origins; ///< "--contract, column 7", "--lane"; one a line of `toml`

  /// An error of reading `toml` as the file `path`, told in the words of who wrote the line.
  base::Error told(base::Error error, std::string_view path) const;
};

/// Kind usage with the column where it went wrong.
base::Expected<ExpandedLine> expand_contract_line(std::string_view line, const LineFiles& files);

} // namespace ako::loop
