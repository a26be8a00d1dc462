#include "workspace/extract_cuda.hpp"

#include "workspace/git_text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>

namespace ako::workspace {

using base::Function;
using base::Parameter;

namespace {

constexpr std::array k_foreign_words = {
    "torch::",    "at::",    "c10::",         "TORCH_",           "AT_DISPATCH", "PYBIND11", "py::",
    "pybind11::", "TVM_FFI", "VLLM_DISPATCH", "DISPATCH_PYTORCH", "jax::",       "xla::"};

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

std::string foreign_word(const std::vector<std::string>& lines, int first, int last) {
  for (int i = first; i <= last && i <= static_cast<int>(lines.size()); ++i) {
    const std::string& line = lines[static_cast<std::size_t>(i - 1)];
    for (const char* word : k_foreign_words)
      for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1))
        if (at == 0 || !word_char(line[at - 1])) return word;
  }
  return {};
}

bool plain_parameter(const Parameter& parameter) {
  const bool stream =
      parameter.type.find("cudaStream_t") != std::string::npos || parameter.type == "CUstream";
  return stream || parameter.kind != Parameter::Kind::other;
}

/// Macro blocks at the top level that register functions somewhere: TORCH_LIBRARY(...) { ... }.
void blank_registrations(std::vector<std::string>& lines, const std::string& path,
                         std::vector<std::string>& left_out) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool begins =
        lines[i].starts_with("TORCH_LIBRARY") || lines[i].starts_with("PYBIND11_MODULE") ||
        lines[i].starts_with("TVM_FFI_") || lines[i].starts_with("REGISTER_EXTENSION");
    if (!begins) continue;
    left_out.push_back(
        fmt::format("{} ({}:{})", lines[i].substr(0, lines[i].find('(')), path, i + 1));
    int depth = 0;
    bool opened = false;
    for (; i < lines.size(); ++i) {
      for (const char c : lines[i]) {
        depth += c == '{' ? 1 : c == '}' ? -1 : 0;
        opened = opened || c == '{';
      }
      const bool ends = opened ? depth == 0 : lines[i].find(';') != std::string::npos;
      lines[i].clear();
      if (ends) break;
    }
  }
}

} // namespace

bool is_cuda_file(const std::string& path) {
  return path.ends_with(".cu") || path.ends_with(".cuh");
}

bool is_kernel(const Function& function) {
  return function.returns.find("__global__") != std::string::npos;
}

bool is_toolkit_header(const std::string& name) {
  static constexpr std::array k_c = {"assert.h",
                                     "stdint.h",
                                     "stdio.h",
                                     "stdlib.h",
                                     "string.h",
                                     "math.h",
                                     "float.h",
                                     "limits.h",
                                     "stddef.h",
                                     "stdbool.h",
                                     "time.h",
                                     "errno.h",
                                     "mma.h",
                                     "vector_types.h",
                                     "vector_functions.h",
                                     "device_launch_parameters.h",
                                     "math_constants.h",
                                     "sm_61_intrinsics.h",
                                     "driver_types.h"};
  if (name.find('.') == std::string::npos && name.find('/') == std::string::npos) return true;
  static constexpr std::array k_roots = {"cuda",     "cub/",     "thrust/", "cooperative_groups",
                                         "nv/",      "cublas",   "cufft",   "curand",
                                         "cusparse", "cusolver", "nvrtc",   "nvtx",
                                         "crt/",     "sys/"};
  return std::find(k_c.begin(), k_c.end(), name) != k_c.end() ||
         std::any_of(k_roots.begin(), k_roots.end(),
                     [&](const char* root) { return name.starts_with(root); });
}

std::vector<LaunchSite> launch_sites(const std::string& text, const std::string& kernel) {
  const auto functions = base::find_functions(text);
  std::vector<LaunchSite> sites;
  for (std::size_t at = text.find(kernel); at != std::string::npos;
       at = text.find(kernel, at + 1)) {
    if (at > 0 && word_char(text[at - 1])) continue;
    std::size_t next = at + kernel.size();
    if (next < text.size() && word_char(text[next])) continue;
    const std::size_t chevrons = text.find("<<<", next);
    if (chevrons == std::string::npos) break;
    // Between the name and the chevrons only template arguments may stand.
    const std::string between = text.substr(next, chevrons - next);
    if (between.find_first_of(";{}") != std::string::npos || between.find('(') != std::string::npos)
      continue;
    const std::size_t end = text.find(">>>", chevrons);
    if (end == std::string::npos) break;
    LaunchSite site;
    site.line = 1 + static_cast<int>(std::count(
                        text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    for (const char c : text.substr(at, end + 3 - at))
      if (!std::isspace(static_cast<unsigned char>(c)) ||
          (!site.text.empty() && site.text.back() != ' '))
        site.text += std::isspace(static_cast<unsigned char>(c)) ? ' ' : c;
    for (const auto& function : functions)
      if (function.first_line <= site.line && site.line <= function.last_line)
        site.function = function.qualified;
    sites.push_back(std::move(site));
  }
  return sites;
}

const Function* plain_launcher(const std::vector<Function>& functions,
                               const std::vector<LaunchSite>& sites) {
  const Function* found = nullptr;
  for (const auto& function : functions) {
    const bool launches = std::any_of(sites.begin(), sites.end(), [&](const LaunchSite& site) {
      return function.first_line <= site.line && site.line <= function.last_line;
    });
    const bool plain =
        !is_kernel(function) && !function.is_template && !function.is_member &&
        (function.returns == "void" || function.returns == "int" ||
         function.returns == "cudaError_t") &&
        std::all_of(function.parameters.begin(), function.parameters.end(), plain_parameter);
    if (!launches || !plain) continue;
    if (found != nullptr) return nullptr;
    found = &function;
  }
  return found;
}

Trimmed trim_foreign(const std::string& path, const std::string& text,
                     const std::vector<base::Include>& foreign) {
  Trimmed out;
  if (foreign.empty() && text.find("torch::") == std::string::npos) {
    out.text = text;
    return out;
  }
  auto lines = lines_of(text);
  for (const auto& function : base::find_functions(text)) {
    if (is_kernel(function) || function.returns.find("__device__") != std::string::npos) continue;
    const std::string word = foreign_word(lines, function.first_line, function.last_line);
    if (word.empty()) continue;
    out.left_out.push_back(fmt::format("function {} ({}:{}), which uses {}", function.qualified,
                                       path, function.line, word));
    for (int i = function.first_line; i <= function.last_line; ++i)
      lines[static_cast<std::size_t>(i - 1)].clear();
    lines[static_cast<std::size_t>(function.first_line - 1)] =
        fmt::format("// Left out by ako: {}, which uses {}", function.qualified, word);
  }
  blank_registrations(lines, path, out.left_out);
  for (const auto& include : foreign) {
    std::string& line = lines[static_cast<std::size_t>(include.line - 1)];
    out.left_out.push_back(fmt::format("#include {} ({}:{})", include.name, path, include.line));
    line = "// Left out by ako: " + line;
  }
  out.text = joined(lines);
  return out;
}

DraftedLauncher draft_launcher(const std::string& path, const std::string& text,
                               const Function& kernel, const std::vector<LaunchSite>& sites) {
  DraftedLauncher out;
  out.function = kernel;
  const std::string name = kernel.name.substr(
      kernel.name.rfind(':') == std::string::npos ? 0 : kernel.name.rfind(':') + 1);
  out.function.name = out.function.qualified = name + "_launch";
  out.function.returns = "cudaError_t";
  out.function.is_template = false;
  Parameter stream;
  stream.type = "cudaStream_t";
  stream.name = "stream";
  out.function.parameters.push_back(stream);

  std::string body = fmt::format("// Drafted by ako: calls {} as it was found in {}:{}.\n",
                                 kernel.qualified, path, kernel.line);
  const auto lines = lines_of(text);
  for (const auto& site : sites) {
    body += fmt::format("// It was launched at line {}{} as {}, after\n", site.line,
                        site.function.empty() ? "" : " in " + site.function, site.text);
    for (int i = std::max(1, site.line - 8); i < site.line; ++i)
      body += "//   " + lines[static_cast<std::size_t>(i - 1)] + "\n";
  }
  body += fmt::format("#include \"{}\"\n#include <cuda_runtime.h>\n\n",
                      std::filesystem::path(path).filename().string());
  body +=
      "#error \"QUESTION: set grid, block, shared memory and template arguments below, then take "
      "this line out\"\n";
  out.questions.push_back(fmt::format("launcher {}_launch: grid, block and shared memory{}", name,
                                      kernel.is_template ? ", template arguments" : ""));
  std::string parameters, arguments;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const auto& each = kernel.parameters[i];
    const std::string called = each.name.empty() ? fmt::format("arg{}", i + 1) : each.name;
    parameters += fmt::format("{} {}, ", each.type, called);
    arguments += (i == 0 ? "" : ", ") + called;
  }
  if (kernel.is_template) body += fmt::format("// template <{}>\n", kernel.template_parameters);
  body += fmt::format("cudaError_t {}_launch({}cudaStream_t stream) {{\n"
                      "  const dim3 grid(1), block(256);\n  const size_t shared_bytes = 0;\n"
                      "  {}{}<<<grid, block, shared_bytes, stream>>>({});\n"
                      "  return cudaGetLastError();\n}}\n",
                      name, parameters, kernel.qualified, kernel.is_template ? "</* ? */>" : "",
                      arguments);
  out.file.path =
      (std::filesystem::path(path).parent_path() / (name + "_launch.cu")).generic_string();
  out.file.content = std::move(body);
  return out;
}

} // namespace ako::workspace
