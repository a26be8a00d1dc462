// What a CUDA file needs beyond a C++ one to become a task: its launcher, and nothing foreign.
#pragma once

#include "base/cpp_scan.hpp"
#include "model/sources.hpp"

#include <string>
#include <vector>

namespace ako::workspace {

bool is_cuda_file(const std::string& path);
bool is_kernel(const base::Function& function); ///< __global__

/// Headers that come with the CUDA toolkit or the C and C++ libraries.
bool is_toolkit_header(const std::string& name);

/// A place where a kernel is launched.
struct LaunchSite {
  int line = 0;
  std::string text;     ///< "kernel<T><<<grid, block, 0, stream>>>"
  std::string function; ///< the host function around it; empty = none found
};
std::vector<LaunchSite> launch_sites(const std::string& text, const std::string& kernel);

/// The host function of the same file that launches the kernel and can be an entry as it is: free,
/// no template, plain pointers and numbers, returning void, int or cudaError_t. Null when there is
/// none, or more than one.
const base::Function* plain_launcher(const std::vector<base::Function>& functions,
                                     const std::vector<LaunchSite>& sites);

/// A file without what needs foreign headers (torch and its like): their #include lines and the
/// host functions that use their names become comments or blank lines, so that every other line
/// keeps its number.
struct Trimmed {
  std::string text;
  std::vector<std::string> left_out; ///< "#include <torch/all.h> (csrc/norm.cu:3)"
};
Trimmed trim_foreign(const std::string& path, const std::string& text,
                     const std::vector<base::Include>& foreign);

/// A launcher to be finished: `#include`s the kernel's file, quotes the launch sites, and stops the
/// compiler at the questions that only the user can answer.
struct DraftedLauncher {
  model::SourceText file;  ///< beside the kernel's file
  base::Function function; ///< as a contract is drafted from it
  std::vector<std::string> questions;
};
DraftedLauncher draft_launcher(const std::string& path, const std::string& text,
                               const base::Function& kernel, const std::vector<LaunchSite>& sites);

} // namespace ako::workspace
