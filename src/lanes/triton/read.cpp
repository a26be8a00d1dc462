// What came of bundling: an artifact, or the one message that says why there is none.
#include "lanes/native/read.hpp"
#include "base/hash.hpp"
#include "lanes/triton/driver.hpp"
#include "lanes/triton/interpreter.hpp"
#include "lanes/triton/python.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::lanes::triton {

using base::Error;
using base::ErrorKind;
using base::Json;
using namespace native;

namespace {

constexpr const char* k_remedy = "name another interpreter in kernel.compiler or AKO_PYTHON";

/// The interpreter lacks what a file imports: the machine's fault, not the file's.
std::optional<Error> explain(const std::string& said, const std::string& interpreter) {
  constexpr std::pair<const char*, const char*> k_packages[] = {{"torch", "torch"},
                                                                {"triton", "triton"},
                                                                {"numpy", "numpy"},
                                                                {"cutlass", "nvidia-cutlass-dsl"},
                                                                {"cuda", "cuda-python"}};
  for (const auto& [name, package] : k_packages) {
    const auto at = said.find(fmt::format("no module named '{}'", name));
    if (at == std::string::npos) continue;
    const auto begin = said.rfind('\n', at) + 1;
    return Error{ErrorKind::environment,
                 fmt::format("this interpreter has no {}", package),
                 interpreter,
                 said.substr(begin, said.find('\n', at) - begin),
                 fmt::format("an interpreter that can import {}", name),
                 fmt::format("install {} there, or {}", package, k_remedy)};
  }
  return std::nullopt;
}

std::vector<std::string> strings(const Json& object, const char* key) {
  std::vector<std::string> out;
  for (const auto& each : base::get_or<Json>(object, key, Json::array()))
    if (each.is_string()) out.push_back(each.get<std::string>());
  return out;
}

/// Over what the files say, whatever their names: equal for copies of one kernel.
base::Hash code_hash(const Json& bundle) {
  std::vector<std::string> texts;
  for (const auto& file : base::get_or<Json>(bundle, "files", Json::array()))
    texts.push_back(base::sha256(base::get_or<std::string>(file, "text", {})));
  std::sort(texts.begin(), texts.end());
  base::Hasher hasher;
  for (const auto& text : texts) hasher.add_field(text);
  return hasher.finish();
}

} // namespace

BuildResult Driver::read(const BuildRequest& request, const model::BuildPlan& plan,
                         const model::BuildRun& run) const {
  return read_in(lane(), request, plan, run);
}

model::LaunchSpec Driver::launch_spec(const BuildRequest& request,
                                      const model::Artifact& artifact) const {
  return launch_spec_in(lane(), request, artifact);
}

BuildResult read_in(model::Lane lane, const BuildRequest& request, const model::BuildPlan& plan,
                    const model::BuildRun& run) {
  const std::string interpreter = plan.steps[0].argv[0];
  BuildResult result = read_run(request, plan, run, {lane, k_remedy, [&](const std::string& said) {
                                                       return explain(said, interpreter);
                                                     }});
  if (!result.artifact) return result;
  Json resources = {{"interpreter", interpreter},
                    {"version", plan.tool_identity.substr(0, plan.tool_identity.find(" | "))},
                    {"folders", plan.system_dirs},
                    {"environment", passed_on(plan.environment)}};
  if (auto text = base::read_file(result.artifact->library_path))
    if (auto bundle = base::parse_json(*text, "bundle")) {
      resources["arrays"] = base::get_or<std::string>(*bundle, "arrays", "plain");
      resources["imports"] = strings(*bundle, "imports");
      resources["code_hash"] = code_hash(*bundle);
    }
  result.artifact->resources = {
      {"python", resources}, {"code_hash", base::get_or<std::string>(resources, "code_hash", "")}};
  return result;
}

model::LaunchSpec launch_spec_in(model::Lane lane, const BuildRequest& request,
                                 const model::Artifact& artifact) {
  model::LaunchSpec spec = launch_spec_of(request, artifact, lane);
  const bool own = request.contract->kernel.lane == lane;
  spec.has_prepare = spec.has_prepare && own;
  spec.has_plan = spec.has_plan && own;
  const auto python = base::get_or<Json>(artifact.resources, "python", Json::object());
  const auto package = worker_package();
  spec.host = {base::get_or<std::string>(python, "interpreter", "python3"), "-B", "-u",
               package ? (*package / "__main__.py").string() : "ako_worker"};
  spec.read_paths = strings(python, "folders");
  if (package) spec.read_paths.push_back(package->string());
  for (const auto& entry : strings(python, "environment")) {
    const auto equals = entry.find('=');
    spec.environment[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  const auto imports = strings(python, "imports");
  spec.environment["AKO_IMPORTS"] = fmt::format("{}", fmt::join(imports, ","));
  // Nothing of the interpreter's may depend on the machine's moods.
  spec.environment["PYTHONHASHSEED"] = "0";
  spec.environment["PYTHONNOUSERSITE"] = "1";
  return spec;
}

std::string resource_text(const Json& report) {
  const auto python = base::get_or<Json>(report, "python", Json::object());
  if (python.empty()) return {};
  std::string text =
      fmt::format("{}, arguments as {}\n", base::get_or<std::string>(python, "version", "Python"),
                  base::get_or<std::string>(python, "arrays", "plain") == "plain" ? "plain arrays"
                  : base::get_or<std::string>(python, "arrays", "") == "torch"    ? "torch tensors"
                                                                                  : "numpy arrays");
  for (const auto& kernel : base::get_or<Json>(report, "compiled", Json::array())) {
    const auto number = [&](const char* key) {
      return base::get_or<std::int64_t>(kernel, key, -1);
    };
    text += fmt::format("{} {}: ", base::get_or<std::string>(kernel, "kernel", "kernel"),
                        base::get_or<std::string>(kernel, "architecture", ""));
    if (number("registers") >= 0) text += fmt::format("{} registers, ", number("registers"));
    if (number("shared_bytes") >= 0) text += fmt::format("{} B shared, ", number("shared_bytes"));
    if (number("spills") > 0) text += fmt::format("SPILLS {}, ", number("spills"));
    else if (number("spills") == 0) text += "no spills, ";
    if (number("warps") >= 0)
      text += fmt::format("{} warps, {} stages\n", number("warps"), number("stages"));
    else
      text += fmt::format("compiled in {:.2f} s\n", static_cast<double>(number("took_ns")) / 1e9);
  }
  for (const auto& choice : base::get_or<Json>(report, "tuned", Json::array()))
    text += fmt::format("{} tuned for {}: {} of {} configurations\n",
                        base::get_or<std::string>(choice, "kernel", "kernel"),
                        fmt::format("{}", fmt::join(strings(choice, "key"), ", ")),
                        base::get_or<Json>(choice, "config", Json::object()).dump(),
                        base::get_or<std::int64_t>(choice, "of", 0));
  const auto seconds = [&](const char* key) {
    return static_cast<double>(base::get_or<std::int64_t>(report, key, 0)) / 1e9;
  };
  // A jitted function that is called itself is traced and looked up again by every call.
  if (const auto calls = base::get_or<std::int64_t>(report, "implicit_calls", 0); calls > 0)
    text += fmt::format(
        "implicit JIT: {}, {} calls without an executor; {:.1f} us of the host's time a call "
        "beside "
        "the launch, none of the kernel's: cute.compile once and call what it gives\n",
        fmt::format("{}", fmt::join(strings(report, "implicit_functions"), ", ")), calls,
        static_cast<double>(base::get_or<std::int64_t>(report, "implicit_overhead_ns", 0)) / 1e3 /
            static_cast<double>(calls));
  if (seconds("first_call_ns") > 0)
    text += fmt::format("outside the samples: importing {:.2f} s, compiling and tuning {:.2f} s\n",
                        seconds("import_ns"), seconds("first_call_ns"));
  return text;
}

} // namespace ako::lanes::triton
