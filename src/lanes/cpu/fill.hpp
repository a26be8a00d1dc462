// Custom fills: a C++ file of the task, built into a library that the keeper loads.
#pragma once

#include "lanes/lane.hpp"

namespace ako::lanes::cpu {

struct FillRequest {
  std::string tensor; ///< whose fill it is, for messages
  model::EntryRef entry;
  std::string exported; ///< the C symbol that the library has instead of the entry's own
  std::vector<std::string> include_dirs;
  double build_seconds = 120;
  model::Sources sources;
  base::fs::path task_dir;
};

/// How the entry is called, as a sentence of C++.
inline constexpr const char* k_fill_signature =
    "int (void* data, int64_t bytes, const int64_t* shape, int rank, uint64_t seed); 0 = done";

model::BuildPlan fill_plan(const FillRequest& request, const Tool& tool,
                           const Surroundings& around);

/// Nothing when the library stands; else the one message: kind invalid for a file that does not
/// compile, has no such function or includes what lies outside the task, kind environment for a
/// compiler that is missing, kind timeout.
base::Status read_fill(const FillRequest& request, const model::BuildPlan& plan,
                       const model::BuildRun& run);

} // namespace ako::lanes::cpu
