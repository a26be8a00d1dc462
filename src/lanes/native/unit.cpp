#include "lanes/native/unit.hpp"

#include "base/cpp_scan.hpp"

#include <algorithm>

namespace ako::lanes::native {

using base::ErrorKind;
using base::Expected;
using base::fail;

namespace {

/// `symbol` where the file defines such a function, in C++ or Python; else nothing. A baseline is
/// somebody else's file: what the kernel has beside its entry, it may lack.
std::string if_defined(const BuildRequest& request, const std::string& file,
                       const std::string& symbol) {
  const auto* source = request.sources.find(file);
  if (symbol.empty() || source == nullptr) return {};
  if (file.ends_with(".py"))
    return ("\n" + source->content).find("\ndef " + symbol + "(") != std::string::npos
               ? symbol
               : std::string();
  const auto functions = base::find_functions(source->content);
  const bool there =
      std::any_of(functions.begin(), functions.end(),
                  [&](const base::Function& function) { return function.qualified == symbol; });
  return there ? symbol : std::string();
}

} // namespace

bool any_starts(const std::vector<std::string>& flags, std::string_view prefix) {
  return std::any_of(flags.begin(), flags.end(),
                     [&](const std::string& flag) { return flag.starts_with(prefix); });
}

Expected<Unit> unit_of(const BuildRequest& request) {
  AKO_CHECK(request.contract != nullptr, "a build request without a contract");
  const auto& contract = *request.contract;
  if (request.role == Role::reference)
    return Unit{contract.reference.entry, {}, contract.reference.flags, {}, {}};
  if (request.role == Role::baseline) {
    for (const auto& baseline : contract.baselines)
      if (baseline.name == request.baseline)
        return Unit{baseline.entry, baseline.sources,
                    baseline.flags.empty() && baseline.lane == contract.kernel.lane
                        ? contract.kernel.flags
                        : baseline.flags,
                    if_defined(request, baseline.entry.file, contract.kernel.prepare),
                    if_defined(request, baseline.entry.file, contract.kernel.plan)};
    return fail(ErrorKind::invalid, "the contract has no such baseline",
                {.where = "[[baseline]]", .found = request.baseline, .allowed = {}, .next = {}});
  }
  return Unit{contract.kernel.entry, contract.kernel.sources, contract.kernel.flags,
              contract.kernel.prepare, contract.kernel.plan};
}

base::Status check_assembly(const BuildRequest& request) {
  for (const auto& source : request.sources.texts)
    if (const int line = base::find_assembled_file(source.content))
      return fail(ErrorKind::invalid, "inline assembly reads a file, and this compiler lists none",
                  {.where = source.path + ":" + std::to_string(line),
                   .found = ".incbin or .include",
                   .allowed = "#include, or g++ as the compiler on the cpu lane",
                   .next = "put the bytes into an array in a header of the task"});
  return {};
}

base::Status check_sources(const BuildRequest& request, const Unit& unit) {
  std::vector<std::string> needed = unit.sources;
  needed.push_back(unit.entry.file);
  for (const auto& path : needed)
    if (request.sources.find(path) == nullptr)
      return fail(ErrorKind::invalid, "a declared source is not there",
                  {.where = label_of(request.role, request.baseline),
                   .found = path,
                   .allowed = "files of the task",
                   .next = "write the file, or correct its name in task.toml"});
  return {};
}

} // namespace ako::lanes::native
