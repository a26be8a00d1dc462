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

namespace ako::loop {

struct LineFiles {
  std::string entry_file;     ///< task-relative
  std::string reference_file; ///< task-relative; the same symbol is looked up in it
  std::string baseline_file;
  std::string precision = "native"; ///< of the reference
  model::Lane lane = model::Lane::cpu;
};

/// The task.toml that the line stands for. Kind usage with the column where it went wrong.
base::Expected<std::string> expand_contract_line(std::string_view line, const LineFiles& files);

} // namespace ako::loop
