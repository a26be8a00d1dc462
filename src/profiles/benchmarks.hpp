// One number out of what a benchmark of a model or a service printed, and whether it is good
// enough. Pure: text in, numbers out.
//
//   read  = [ "file:" PATH "#" ] how
//   how   = "/" JSON pointer           into the whole output, or its last line that is JSON
//         | "sglang:" KEY              bench_serving, bench_one_batch: result file or printed table
//         | "vllm:" KEY                bench serve, throughput, latency: result file or printed
//         lines | "diffusion:" KEY           a pipeline's own timing lines | regular expression its
//         first group in the last match
//   must  = ( ">=" | "<=" | ">" | "<" | "==" ) sum of numbers and "base" by + - * / ( )
#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

struct ReadSpec {
  std::string file; ///< empty = what the command printed
  std::string how;
};
ReadSpec parse_read(std::string_view read);

/// Kind invalid, naming what was looked for and which keys there are, when the number is not there
/// or not finite.
base::Expected<double> read_number(const std::string& output, const std::string& how);

/// "must" with `base` = the old side's number.
struct Requirement {
  bool met = false;
  double bound = 0;
  std::string text; ///< "412 >= 0.99 x 410 = 405.9"
};
base::Expected<Requirement> require(const std::string& must, double value, double base);

} // namespace ako::profiles
