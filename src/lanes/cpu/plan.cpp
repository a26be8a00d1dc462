// From a request to a build plan: files, commands, key.
#include "lanes/cpu/compiler.hpp"
#include "lanes/cpu/driver.hpp"
#include "lanes/native/read.hpp"
#include "lanes/native/shim.hpp"
#include "lanes/native/tools.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fstream>

namespace ako::lanes::cpu {

using base::ErrorKind;
using base::Expected;
using base::fail;
using namespace native;

namespace {

constexpr const char* k_shim_file = "ako_shim.cpp";
constexpr const char* k_map_file = "ako_shim.map";
constexpr const char* k_library_file = "ako_shim.so";

/// Flags that ako sets itself, or that load foreign code into the compiler.
bool is_refused(const std::string& flag) {
  static constexpr std::array k_whole = {"-c", "-S", "-E", "-x", "-static", "-wrapper", "-pipe"};
  static constexpr std::array k_prefix = {"-o",
                                          "-M",
                                          "@",
                                          "-fplugin",
                                          "-B",
                                          "-specs",
                                          "--specs",
                                          "-save-temps",
                                          "-dumpbase",
                                          "-dumpdir",
                                          "-aux-info",
                                          "-fdiagnostics",
                                          "-Wl,--version-script"};
  const bool whole =
      std::any_of(k_whole.begin(), k_whole.end(), [&](const char* known) { return flag == known; });
  return whole || std::any_of(k_prefix.begin(), k_prefix.end(),
                              [&](const char* known) { return flag.starts_with(known); });
}

/// What -march=native means here, so that a cache on a shared home folder serves several machines.
std::string this_processor() {
  std::ifstream stream("/proc/cpuinfo");
  std::string text;
  for (std::string line; std::getline(stream, line) && !line.empty();)
    if (line.starts_with("model") || line.starts_with("flags") || line.starts_with("CPU ") ||
        line.starts_with("Features") || line.starts_with("cpu family"))
      text += line + "\n";
  return text;
}

base::Hash key_of(const model::BuildPlan& plan, bool native, const Surroundings& around) {
  base::Hasher hasher;
  hasher.add_field("cpu lane 1").add_field(plan.tool_identity).add_field(plan.library);
  for (const auto& step : plan.steps) {
    hasher.add_field("step");
    for (const auto& word : step.argv) hasher.add_field(word);
  }
  for (const auto& file : plan.files) hasher.add_field(file.path).add_field(file.content);
  for (const char* name : {"PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH",
                           "GCC_EXEC_PREFIX", "COMPILER_PATH"}) {
    const auto found = around.environment.find(name);
    hasher.add_field(found == around.environment.end() ? "" : found->second);
  }
  hasher.add_field(native ? this_processor() : "");
  return hasher.finish();
}

/// One command for a single unit; objects and a link for several, so that each has its own rule
/// file.
void add_steps(model::BuildPlan& plan, const Tool& tool, const std::vector<std::string>& flags,
               const std::vector<std::string>& sources) {
  std::vector<std::string> compile = tool.command;
  compile.insert(compile.end(), flags.begin(), flags.end());
  std::vector<std::string> link_flags = {"-shared",
                                         std::string("-Wl,--version-script=") + k_map_file};
  if (!any_starts(flags, "-fsanitize")) link_flags.push_back("-Wl,-z,defs");

  std::vector<std::string> units = {k_shim_file};
  units.insert(units.end(), sources.begin(), sources.end());
  std::vector<std::string> objects;
  for (std::size_t i = 0; i < units.size(); ++i) {
    model::BuildStep step;
    step.label = fmt::format("compile {}", i == 0 ? "the entry" : units[i]);
    step.argv = compile;
    step.inputs = {units[i]};
    plan.depfiles.push_back(fmt::format("ako_unit_{}.d", i));
    const std::string object = fmt::format("ako_unit_{}.o", i);
    step.argv.insert(step.argv.end(), {"-MD", "-MF", plan.depfiles.back()});
    if (lists_assembly(tool)) {
      plan.assembler_depfiles.push_back(fmt::format("ako_unit_{}.as.d", i));
      step.argv.push_back("-Wa,--MD," + plan.assembler_depfiles.back());
    }
    if (units.size() == 1) {
      step.argv.insert(step.argv.end(), {units[i], "-o", k_library_file});
      step.argv.insert(step.argv.end(), link_flags.begin(), link_flags.end());
      step.outputs = {k_library_file};
    } else {
      step.argv.insert(step.argv.end(), {"-c", units[i], "-o", object});
      step.outputs = {object};
      objects.push_back(object);
    }
    plan.steps.push_back(std::move(step));
  }
  if (units.size() == 1) return;
  model::BuildStep link;
  link.label = "link";
  link.argv = compile;
  link.argv.insert(link.argv.end(), objects.begin(), objects.end());
  link.argv.insert(link.argv.end(), {"-o", k_library_file});
  link.argv.insert(link.argv.end(), link_flags.begin(), link_flags.end());
  link.inputs = objects;
  link.outputs = {k_library_file};
  plan.steps.push_back(std::move(link));
}

} // namespace

Expected<std::vector<std::string>> flags_of(const Unit& unit, Role role) {
  std::vector<std::string> flags = {"-fPIC", "-fvisibility=hidden", "-fdiagnostics-color=never"};
  if (!any_starts(unit.flags, "-std=")) flags.push_back("-std=gnu++20");
  if (role == Role::reference && !any_starts(unit.flags, "-O")) flags.push_back("-O2");
  if (role != Role::reference && !any_starts(unit.flags, "-O")) flags.push_back("-O3");
  if (role != Role::reference && unit.flags.empty()) flags.push_back("-march=native");
  for (const auto& flag : unit.flags) {
    if (is_refused(flag))
      return fail(ErrorKind::invalid, "a compiler flag that ako sets itself or cannot allow",
                  {.where = "kernel.flags",
                   .found = flag,
                   .allowed =
                       "language, optimisation, warning, macro and library flags; folders of "
                       "the task to search stand in kernel.include_dirs",
                   .next = "remove the flag"});
    flags.push_back(flag);
  }
  return flags;
}

Expected<model::BuildPlan> Driver::plan(const BuildRequest& request, const Tool& tool,
                                        const Surroundings& around) const {
  AKO_TRY(const Unit unit, unit_of(request));
  AKO_TRY_STATUS(check_sources(request, unit));
  if (!lists_assembly(tool)) AKO_TRY_STATUS(check_assembly(request));
  AKO_TRY(auto flags, flags_of(unit, request.role));
  for (const auto& dir : request.contract->kernel.include_dirs) flags.push_back("-I" + dir);
  AKO_TRY(std::string shim, shim_text(*request.contract, model::Lane::cpu, request.role, unit));
  model::BuildPlan plan;
  plan.label = label_of(request.role, request.baseline);
  plan.snapshot = request.sources.snapshot.hash;
  plan.task_dir = request.task_dir.string();
  plan.files = request.sources.texts;
  plan.files.push_back({k_shim_file, std::move(shim), false});
  plan.files.push_back(
      {k_map_file, "{ global: ako_call; ako_prepare; ako_plan; local: *; };\n", false});
  add_steps(plan, tool, flags, unit.sources);
  plan.system_dirs = tool.system_dirs;
  plan.library = k_library_file;
  plan.environment = compiler_environment(around);
  plan.deadline_seconds = request.contract->limits.build_seconds;
  plan.tool_identity = tool.identity;
  const bool native = any_starts(flags, "-march=native") || any_starts(flags, "-mtune=native") ||
                      any_starts(flags, "-mcpu=native");
  plan.key = key_of(plan, native, around);
  return plan;
}

BuildResult Driver::read(const BuildRequest& request, const model::BuildPlan& plan,
                         const model::BuildRun& run) const {
  return read_run(request, plan, run,
                  {model::Lane::cpu, "install it, or name another in kernel.compiler or CXX", {}});
}

model::LaunchSpec Driver::launch_spec(const BuildRequest& request,
                                      const model::Artifact& artifact) const {
  return launch_spec_of(request, artifact, model::Lane::cpu);
}

Expected<Tool> Driver::find_tool(const model::Contract& contract,
                                 const Surroundings& around) const {
  return find_compiler(contract.kernel.compiler, around);
}

Probe Driver::probe(const std::string& compiler, const Surroundings& around,
                    const base::fs::path& scratch) const {
  return probe_compiler(compiler, around, scratch);
}

} // namespace ako::lanes::cpu
