#include "loop/port/target_library.hpp"

#include "base/cpp_scan.hpp"
#include "workspace/snapshot.hpp"

#include <fmt/format.h>

namespace ako::loop {
namespace {

bool is_device(model::Lane lane) {
  return lane == model::Lane::cuda || lane == model::Lane::cutlass;
}

std::string cpp_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

base::Expected<base::Function> signature_of(const model::Contract& contract,
                                            const std::string& text) {
  const std::string symbol =
      contract.kernel.entry.symbol.substr(0, contract.kernel.entry.symbol.find('<'));
  std::vector<base::Function> found;
  for (const auto& each : base::find_functions(text))
    if (each.qualified == symbol || each.name == symbol) found.push_back(each);
  const bool plain = found.size() == 1 && !found[0].is_template && !found[0].is_member;
  if (plain)
    for (const auto& each : found[0].parameters)
      if (each.kind == base::Parameter::Kind::other && each.type.find('*') == std::string::npos &&
          each.type.find("tream") == std::string::npos)
        return base::fail(base::ErrorKind::unsupported,
                          "the entry's signature cannot be taken over for the target's library",
                          {.where = contract.kernel.entry.file,
                           .found = each.type + " " + each.name,
                           .allowed = "pointers and numbers",
                           .next = "measure it in the target with a [[gate]] instead"});
  if (plain) return found[0];
  return base::fail(base::ErrorKind::unsupported,
                    "the entry's signature cannot be taken over for the target's library",
                    {.where = contract.kernel.entry.file,
                     .found = found.empty()
                                  ? "no definition of " + symbol
                                  : fmt::format("{} of them, or a template", found.size()),
                     .allowed = "one plain function",
                     .next = "measure it in the target with a [[gate]] instead"});
}

} // namespace

base::Expected<std::string> library_caller(const model::Contract& contract,
                                           const std::string& entry_text,
                                           const base::fs::path& library, const base::Hash& hash,
                                           const std::string& symbol) {
  AKO_TRY(const base::Function entry, signature_of(contract, entry_text));
  std::string types, parameters, names;
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const std::string comma = i ? ", " : "";
    types += comma + entry.parameters[i].type;
    parameters += fmt::format("{}{} a{}", comma, entry.parameters[i].type, i);
    names += fmt::format("{}a{}", comma, i);
  }
  std::string out = "// Calls the target's library " + hash +
                    ".\n"
                    "#include <cstddef>\n#include <cstdint>\n#include <cstdio>\n"
                    "#include <cstdlib>\n#include <dlfcn.h>\n";
  if (is_device(contract.kernel.lane))
    out += "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_runtime.h>\n";
  out += fmt::format("\nnamespace {{\n"
                     "using AkoEntry = {} (*)({});\n"
                     "AkoEntry ako_load() {{\n"
                     "  void* library = dlopen({}, RTLD_NOW | RTLD_LOCAL);\n"
                     "  void* found = library != nullptr ? dlsym(library, {}) : nullptr;\n"
                     "  if (found == nullptr) {{\n"
                     "    std::fprintf(stderr, \"%s\\n\", dlerror());\n"
                     "    std::abort();\n"
                     "  }}\n"
                     "  return reinterpret_cast<AkoEntry>(found);\n"
                     "}}\n"
                     "const AkoEntry ako_entry = ako_load();\n"
                     "}} // namespace\n\n",
                     entry.returns, types, cpp_string(library.string()), cpp_string(symbol));
  const std::size_t last = entry.qualified.rfind("::");
  const std::string space = last == std::string::npos ? "" : entry.qualified.substr(0, last);
  const std::string name =
      last == std::string::npos ? entry.qualified : entry.qualified.substr(last + 2);
  if (!space.empty()) out += "namespace " + space + " {\n";
  out += fmt::format("{} {}({}) {{ return ako_entry({}); }}\n", entry.returns, name, parameters,
                     names);
  if (!space.empty()) out += "}\n";
  return out;
}

base::Expected<Built> target_side(Builder& builder, const model::Contract& contract,
                                  const model::PortSpec& port, const std::string& entry_text,
                                  const TargetLibrary& library, lanes::Role role,
                                  const std::string& switch_value) {
  AKO_TRY(std::string text,
          library_caller(contract, entry_text, library.path, library.hash, port.measure));
  model::Kernel kernel = contract.kernel;
  kernel.sources.clear();
  kernel.include_dirs.clear();
  kernel.prepare.clear();
  kernel.plan.clear();
  kernel.flags = {"-O2"};
  model::Sources sources = workspace::make_sources({{kernel.entry.file, std::move(text), false}});
  AKO_TRY(Built built, must_build(builder.from_kernel(std::move(sources), role, kernel)));
  built.label = role == lanes::Role::candidate ? "target:new" : "target:old";
  const std::string folder = library.path.parent_path().string();
  std::string& paths = built.spec.environment["LD_LIBRARY_PATH"];
  paths = paths.empty() ? folder : folder + ":" + paths;
  if (port.switch_kind == model::PortSpec::Switch::environment)
    built.spec.environment[port.switch_name] = switch_value;
  return built;
}

} // namespace ako::loop
