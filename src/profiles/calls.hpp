// Recorded calls: what production hands to a kernel, how often, and the shapes that follow from it.
//
// One JSON object a line, as python/ako_record and include/ako/record.h write them:
//   {"kernel": "rmsnorm", "count": 812, "args": [
//     {"name": "x", "dtype": "bfloat16", "shape": [16, 4096], "strides": [4096, 1]},
//     {"name": "rows", "dtype": "int64", "shape": [16], "file": "rows-1a2b.npy"},
//     {"name": "eps", "value": 1e-5}]}
// Lines of equal signatures (of several processes) add up. Values of arguments that are numbers are
// part of the signature.
#pragma once

#include "model/contract.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

struct RecordedArgument {
  std::string name, dtype, file;
  std::vector<std::int64_t> shape, strides;
  std::optional<double> value; ///< a number instead of a tensor
  bool operator==(const RecordedArgument&) const = default;
};

struct RecordedCall {
  std::string kernel;
  std::int64_t count = 0;
  std::vector<RecordedArgument> arguments;
};

/// The most frequent first. Kind invalid naming the line that is none.
base::Expected<std::vector<RecordedCall>> read_calls(std::string_view text, std::string_view where);

struct CallShapes {
  std::vector<model::ShapeCase> shapes; ///< weight = recorded calls
  std::string toml;                     ///< [[shape]] tables, ready for task.toml
  std::vector<std::string> unknown;     ///< what the calls do not tell, asked for by name
  std::vector<std::string> misfits;     ///< calls that the contract does not allow, with the reason
  std::int64_t calls = 0, covered = 0;  ///< recorded, and those behind `shapes`
};

/// Calls of `kernel` (empty = the only one there is) under a contract: axes from the sizes and
/// numbers that stand for them. At most `most` shapes, the most frequent.
base::Expected<CallShapes> shapes_of_calls(const model::Contract& contract,
                                           const std::vector<RecordedCall>& calls,
                                           const std::string& kernel, std::size_t most);

/// Without a contract: an axis for every size that varies, named after argument and dimension.
base::Expected<CallShapes> draft_shapes(const std::vector<RecordedCall>& calls,
                                        const std::string& kernel, std::size_t most);

} // namespace ako::profiles
