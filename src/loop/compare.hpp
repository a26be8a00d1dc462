// `ako compare OLD NEW`: a verdict from two files, with nothing set up before.
#pragma once

#include "loop/session.hpp"
#include "loop/setup.hpp"

namespace ako::loop {

struct CompareRequest {
  base::fs::path old_file, new_file;
  std::optional<base::fs::path> reference; ///< a judge of its own; absent = the old file judges
  std::string precision = "native";        ///< of `reference`
  std::optional<std::string> contract_line;
  std::optional<base::fs::path> contract_file; ///< a whole task.toml instead of a line
  std::optional<model::Lane> lane;             ///< absent = by the new file's name
  std::optional<std::string> device;           ///< --device
  base::fs::path dir;                          ///< inside a task its contract serves
};

struct CompareResult {
  ledger::Compare compare; ///< recorded only inside a task
  evaluation::Report report;
  std::string judged_by;         ///< "reference.cpp", "the old file", "nothing"
  bool identical = false;        ///< both files compile to the same binary
  bool same_device_code = false; ///< not identical, but the kernels are, instruction by instruction
  base::Json old_resources, new_resources; ///< the compiler's reports
  double build_seconds = 0;
};

base::Expected<CompareResult> compare_files(const CompareRequest& request);

} // namespace ako::loop
