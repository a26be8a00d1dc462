// `ako new --from REPO:path::symbol`: a C++ or CUDA kernel taken out of a repository with what it
// includes.
#pragma once

#include "base/cpp_scan.hpp"
#include "model/sources.hpp"

#include "base/fs.hpp"

#include <string>
#include <vector>

namespace ako::workspace {

struct ExtractRequest {
  base::fs::path repository;
  std::string path;                      ///< of the file, relative to the repository
  std::string symbol;                    ///< possibly qualified
  std::string kernel;                    ///< task and kernel name; empty = the symbol's last part
  std::vector<std::string> include_dirs; ///< inside the repository, searched for <> and "" includes
};

/// "REPO:path::symbol" -> its three parts. REPO may be empty (the current folder) or hold ':'. Kind
/// usage otherwise.
base::Expected<ExtractRequest> parse_from(std::string_view text);

struct Extracted {
  std::string kernel;
  std::vector<model::SourceText> files; ///< the whole starting task, task.toml among them
  base::Function function;              ///< what was found
  std::string commit, origin;           ///< of the repository; empty when it is no git work tree
  std::vector<std::string> questions;   ///< contract keys that nobody but the user can answer
  std::vector<std::string> unresolved;  ///< includes not found in the repository, taken as system's
  model::Lane lane = model::Lane::cpu;
  std::vector<std::string> left_out; ///< CUDA: foreign includes and functions that need them
};

/// Kind invalid naming what was found and the candidates: no such file, symbol absent, overloaded,
/// a template, only declared, not C++ by its name. A CUDA kernel (__global__, a template too) comes
/// with the host function that launches it, where that takes plain pointers and numbers; else with
/// a launcher to be finished, which quotes how the kernel was launched.
base::Expected<Extracted> extract_kernel(const ExtractRequest& request);

} // namespace ako::workspace
