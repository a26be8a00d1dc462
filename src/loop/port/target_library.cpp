#include "loop/port/target_library.hpp"

#include "base/cpp_scan.hpp"
#include "loop/port/dispatch.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>

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

namespace {

/// Whether some line of the sources imports a top-level module.
bool imports(const model::Sources& sources, const std::string& module) {
  for (const auto& source : sources.texts)
    for (std::size_t at = 0; at < source.content.size();) {
      const std::size_t end = std::min(source.content.find('\n', at), source.content.size());
      std::string row = source.content.substr(at, end - at);
      at = end + 1;
      row.erase(0, std::min(row.find_first_not_of(" \t"), row.size()));
      for (const char* word : {"import ", "from "})
        if (row.starts_with(word + module)) {
          const std::size_t behind = std::string_view(word).size() + module.size();
          if (behind >= row.size() ||
              std::string_view(" .,;\r").find(row[behind]) != std::string_view::npos)
            return true;
        }
    }
  return false;
}

/// Dotted names: what may stand before and behind the colon.
bool dotted(const std::string& text) {
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find('.', at), text.size());
    const std::string part = text.substr(at, end - at);
    const bool good = !part.empty() && std::isdigit(static_cast<unsigned char>(part[0])) == 0 &&
                      std::all_of(part.begin(), part.end(), [](char c) {
                        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
                      });
    if (!good) return false;
    at = end + 1;
  }
  return true;
}

base::Expected<std::string> caller_of(const model::Contract& contract, const model::PortSpec& port,
                                      const model::Sources& measured,
                                      const TargetLibrary& library) {
  if (is_python(contract.kernel.lane))
    return module_caller(contract, measured, library.path, library.hash, port.measure);
  const auto* entry = measured.find(contract.kernel.entry.file);
  if (entry == nullptr)
    return base::fail(base::ErrorKind::stale,
                      "the measured entry's file is not among the kept sources",
                      {.where = contract.kernel.entry.file,
                       .found = {},
                       .allowed = "the entry that was measured",
                       .next = "ako try"});
  return library_caller(contract, entry->content, library.path, library.hash, port.measure);
}

} // namespace

base::Expected<std::string> module_caller(const model::Contract& contract,
                                          const model::Sources& measured,
                                          const base::fs::path& tree, const base::Hash& hash,
                                          const std::string& function) {
  const std::size_t colon = function.find(':');
  const std::string module = function.substr(0, colon);
  const std::string name = colon == std::string::npos ? "" : function.substr(colon + 1);
  if (!dotted(module) || !dotted(name))
    return base::fail(base::ErrorKind::invalid, "this names no function of the target's modules",
                      {.where = "task.toml [port] measure",
                       .found = function,
                       .allowed = "package.module:function, from the work tree's root",
                       .next = "name the function that takes the contract's arguments"});
  std::string frameworks;
  for (const char* each : {"numpy", "torch", "triton"})
    if (imports(measured, each)) frameworks += fmt::format("import {}  # noqa: F401\n", each);
  const auto names = fmt::format("{}", fmt::join(argument_names(contract), ", "));
  return fmt::format("\"\"\"Calls {0} of the target at {1}.\"\"\"\n"
                     "import importlib\nimport sys\n\n{2}\n"
                     "sys.path.insert(0, {3})\n"
                     "_target = importlib.import_module(\"{4}\")\n"
                     "for _part in \"{5}\".split(\".\"):\n"
                     "    _target = getattr(_target, _part)\n\n\n"
                     "def {6}({7}):\n    return _target({7})\n",
                     function, hash, frameworks, cpp_string(tree.string()), module, name,
                     contract.kernel.entry.symbol, names);
}

base::Expected<Built> target_side(Builder& builder, const model::Contract& contract,
                                  const model::PortSpec& port, const model::Sources& measured,
                                  const TargetLibrary& library, lanes::Role role,
                                  const std::string& switch_value) {
  AKO_TRY(std::string text, caller_of(contract, port, measured, library));
  const bool python = is_python(contract.kernel.lane);
  model::Kernel kernel = contract.kernel;
  kernel.sources.clear();
  kernel.include_dirs.clear();
  kernel.prepare.clear();
  kernel.plan.clear();
  kernel.flags = python ? std::vector<std::string>() : std::vector<std::string>{"-O2"};
  model::Sources sources = workspace::make_sources({{kernel.entry.file, std::move(text), false}});
  AKO_TRY(Built built, must_build(builder.from_kernel(std::move(sources), role, kernel)));
  built.label = role == lanes::Role::candidate ? "target:new" : "target:old";
  built.spec.read_paths.push_back(library.tree.string());
  if (!python) {
    const std::string folder = library.path.parent_path().string();
    std::string& paths = built.spec.environment["LD_LIBRARY_PATH"];
    paths = paths.empty() ? folder : folder + ":" + paths;
  }
  if (port.switch_kind == model::PortSpec::Switch::environment)
    built.spec.environment[port.switch_name] = switch_value;
  return built;
}

} // namespace ako::loop
