#include "lanes/triton/interpreter.hpp"

#include "base/installed.hpp"
#include "base/json.hpp"
#include "base/python.hpp"
#include "lanes/native/tools.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace ako::lanes::triton {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;
using namespace native;
namespace fs = base::fs;

namespace {

constexpr const char* k_other_python =
    "install CPython 3.10 or newer, or name one in kernel.compiler, AKO_PYTHON or VIRTUAL_ENV";

struct Choice {
  std::string path, chosen_by;
};

tl::unexpected<base::Error> missing(const std::string& where, const std::string& found) {
  return fail(ErrorKind::environment, "no Python interpreter was found",
              {.where = where,
               .found = found,
               .allowed = "CPython 3.10 or newer, in PATH or by its path",
               .next = k_other_python});
}

/// The first that is set and there. One that is set and not there is an error: it was meant.
Expected<Choice> choose(const std::string& wanted, const Surroundings& around,
                        std::vector<std::string>& said) {
  const auto named = [&](const std::string& name, const std::string& by) -> Expected<Choice> {
    const std::string path = locate(name, around);
    said.push_back(fmt::format("{} '{}': {}", by, name, path.empty() ? "not found" : path));
    if (path.empty()) return missing(by, name);
    return Choice{path, by};
  };
  if (!wanted.empty()) return named(wanted, "kernel.compiler");
  const auto choices =
      base::python_choices([&](const char* name) { return variable(around, name); },
                           [&](const std::string& path) { return !locate(path, around).empty(); });
  for (const auto& [program, by] : choices) {
    auto found = named(program, by);
    if (found || by != "PATH") return found;
  }
  std::string list;
  for (const auto& line : said) list += (list.empty() ? "" : "; ") + line;
  return missing("PATH", list);
}

std::string joined_versions(const Json& facts) {
  std::string text =
      fmt::format("Python {}", base::get_or<std::string>(facts, "version", "of no known version"));
  const auto versions = base::get_or<Json>(facts, "versions", Json::object());
  for (const auto& [name, version] : versions.items())
    if (version.is_string()) text += fmt::format(", {} {}", name, version.get<std::string>());
  return text;
}

Expected<Tool> identified(const Choice& choice, const fs::path& package,
                          const Surroundings& around) {
  AKO_TRY(const auto answer,
          ask({choice.path, "-B"}, {(package / "identify.py").string()}, around));
  const auto facts = answer.ok() ? base::parse_json(answer.out, choice.path)
                                 : Expected<Json>(tl::unexpected(base::Error{}));
  if (!facts)
    return fail(ErrorKind::environment, "the interpreter does not say what it is",
                {.where = choice.path,
                 .found = answer.timed_out ? fmt::format("no answer within {} s", k_ask_seconds)
                                           : fmt::format("{}: {}", answer.ending.text(),
                                                         (answer.err + answer.out).substr(0, 300)),
                 .allowed = "CPython 3.10 or newer",
                 .next = k_other_python});
  Tool tool;
  tool.version = joined_versions(*facts);
  if (!base::get_or<bool>(*facts, "supported", false))
    return fail(
        ErrorKind::environment, "this interpreter cannot be the worker",
        {.where = fmt::format("{} ({})", choice.path, choice.chosen_by),
         .found = fmt::format("{} {}", base::get_or<std::string>(*facts, "implementation", "?"),
                              base::get_or<std::string>(*facts, "version", "?")),
         .allowed = "CPython 3.10 or newer",
         .next = k_other_python});
  tool.path = choice.path;
  tool.command = {choice.path};
  tool.family = "cpython";
  tool.chosen_by = choice.chosen_by;
  std::error_code why;
  AKO_TRY(const auto hash, base::sha256_file(fs::canonical(choice.path, why)));
  tool.identity = fmt::format("{} | {} | {}", tool.version, choice.path, hash);
  for (const auto& folder : base::get_or<Json>(*facts, "folders", Json::array()))
    if (folder.is_string()) tool.system_dirs.push_back(folder.get<std::string>());
  return tool;
}

} // namespace

Expected<fs::path> worker_package() { return base::find_installed("python/ako_worker"); }

Expected<Tool> find_interpreter(const std::string& wanted, const Surroundings& around,
                                std::vector<std::string>* looked) {
  std::vector<std::string> notes;
  std::vector<std::string>& said = looked != nullptr ? *looked : notes;
  AKO_TRY(const Choice choice, choose(wanted, around, said));
  AKO_TRY(const fs::path package, worker_package());
  return identified(choice, package, around);
}

std::vector<std::string> passed_on(const std::vector<std::string>& environment) {
  static constexpr std::array k_names = {
      "PYTHONPATH", "LD_LIBRARY_PATH",   "CUDA_HOME",           "CUDA_PATH",   "CC",
      "CPATH",      "TRITON_PTXAS_PATH", "TRITON_LIBCUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"};
  std::vector<std::string> out;
  for (const auto& entry : environment) {
    const auto name = entry.substr(0, entry.find('='));
    if (std::find(k_names.begin(), k_names.end(), name) != k_names.end()) out.push_back(entry);
  }
  return out;
}

} // namespace ako::lanes::triton
