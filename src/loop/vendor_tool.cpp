#include "loop/vendor_tool.hpp"

#include "base/fs.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace ako::loop {
namespace {

bool is_program(const base::fs::path& path) {
  std::error_code ignored;
  return base::fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::vector<base::fs::path> folders_of_path() {
  std::vector<base::fs::path> out;
  const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    if (end > at) out.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// An Nsight product lies in a folder of its version: the newest first.
void add_versions(const base::fs::path& root, std::vector<base::fs::path>& out) {
  std::error_code ignored;
  std::vector<base::fs::path> versions;
  for (const auto& entry : base::fs::directory_iterator(root, ignored))
    versions.push_back(entry.path());
  std::sort(versions.rbegin(), versions.rend());
  for (const auto& version : versions)
    for (const char* below :
         {"", "bin", "target-linux-x64", "target/linux-desktop-glibc_2_11_3-x64"})
      out.push_back(version / below);
}

} // namespace

const VendorTool& ncu_tool() {
  static const VendorTool s_tool{
      "ncu",
      "AKO_NCU",
      "Nsight Compute (ncu)",
      "ncu 2022 or newer",
      "install the package nsight-compute of your CUDA version, or set AKO_NCU; a report from "
      "another machine is read by ako diagnose",
      {"/opt/nvidia/nsight-compute"}};
  return s_tool;
}

const VendorTool& sanitizer_tool() {
  static const VendorTool s_tool{"compute-sanitizer",
                                 "AKO_COMPUTE_SANITIZER",
                                 "compute-sanitizer",
                                 "that of the CUDA toolkit",
                                 "install the package cuda-sanitizer of your CUDA version, or set "
                                 "AKO_COMPUTE_SANITIZER",
                                 {}};
  return s_tool;
}

const VendorTool& debugger_tool() {
  static const VendorTool s_tool{
      "cuda-gdb",
      "AKO_CUDA_GDB",
      "cuda-gdb",
      "that of the CUDA toolkit",
      "install the package cuda-gdb of your CUDA version, or set AKO_CUDA_GDB",
      {}};
  return s_tool;
}

base::Expected<std::string> find_vendor_tool(const VendorTool& tool) {
  if (const char* given = std::getenv(tool.variable); given && *given) {
    if (is_program(given)) return std::string(given);
    return base::fail(base::ErrorKind::environment,
                      fmt::format("{} names no program", tool.variable),
                      {.where = tool.variable,
                       .found = given,
                       .allowed = fmt::format("the path of {}", tool.what),
                       .next = "correct or unset it"});
  }
  std::vector<base::fs::path> places = folders_of_path();
  std::vector<base::fs::path> toolkits = {"/usr/local/cuda", "/opt/cuda"};
  if (const char* home = std::getenv("CUDA_HOME"); home && *home)
    toolkits.insert(toolkits.begin(), home);
  for (const auto& toolkit : toolkits)
    for (const char* below : {"bin", "compute-sanitizer"}) places.push_back(toolkit / below);
  for (const auto& root : tool.beside) add_versions(root, places);
  for (const auto& place : places)
    if (is_program(place / tool.program)) return (place / tool.program).string();
  return base::fail(
      base::ErrorKind::environment, fmt::format("{} is not on this machine", tool.what),
      {.where = fmt::format("{}, PATH, CUDA_HOME/bin, /usr/local/cuda/bin", tool.variable),
       .found = fmt::format("no {}", tool.program),
       .allowed = tool.allowed,
       .next = tool.next});
}

} // namespace ako::loop
