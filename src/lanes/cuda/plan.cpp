// From a request to a build plan: files, commands, key.
#include "lanes/cuda/plan.hpp"
#include "lanes/cuda/driver.hpp"
#include "lanes/cuda/features.hpp"
#include "lanes/cuda/nvcc.hpp"
#include "lanes/native/shim.hpp"
#include "lanes/native/tools.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>

namespace ako::lanes::cuda {

using base::ErrorKind;
using base::Expected;
using base::fail;
using namespace native;

namespace {

constexpr const char* k_shim_file = "ako_shim.cu";
constexpr const char* k_images_file = "ako_images.cpp";
constexpr const char* k_map_file = "ako_shim.map";
constexpr const char* k_library_file = "ako_shim.so";

/// Flags that ako sets itself, or that change what comes out.
bool is_refused(const std::string& flag) {
  static constexpr std::array k_whole = {
      "-c",      "-dc",          "-dw",     "-dlink",    "-E",    "-x",        "-ptx",
      "-cubin",  "-fatbin",      "-lib",    "-link",     "-run",  "-shared",   "--shared",
      "--run",   "--ptx",        "--cubin", "--fatbin",  "--lib", "--compile", "--dryrun",
      "-dryrun", "--preprocess", "--link",  "-optix-ir", "-time", "--time"};
  static constexpr std::array k_prefix = {"-o",
                                          "--output",
                                          "-M",
                                          "--generate-dep",
                                          "-keep",
                                          "--keep",
                                          "-arch",
                                          "--gpu-",
                                          "-gencode",
                                          "--generate-code",
                                          "-code",
                                          "-save-temps",
                                          "@",
                                          "-optf",
                                          "--options-fi",
                                          "-cudart",
                                          "--cudart",
                                          "--compress-mode",
                                          "-compress-mode",
                                          "--device-link",
                                          "--device-c"};
  const bool whole =
      std::any_of(k_whole.begin(), k_whole.end(), [&](const char* known) { return flag == known; });
  return whole || std::any_of(k_prefix.begin(), k_prefix.end(),
                              [&](const char* known) { return flag.starts_with(known); });
}

base::Hash key_of(const model::BuildPlan& plan, const Surroundings& around) {
  base::Hasher hasher;
  hasher.add_field("cuda lane 1").add_field(plan.tool_identity).add_field(plan.library);
  for (const auto& step : plan.steps) {
    hasher.add_field("step");
    for (const auto& word : step.argv) hasher.add_field(word);
  }
  for (const auto& file : plan.files) hasher.add_field(file.path).add_field(file.content);
  for (const char* name : {"PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH",
                           "GCC_EXEC_PREFIX", "COMPILER_PATH", "NVCC_CCBIN"})
    hasher.add_field(variable(around, name));
  return hasher.finish();
}

bool is_image(const std::string& path) {
  return path.ends_with(".ptx") || path.ends_with(".cubin");
}

bool is_header(const std::string& path) {
  static constexpr std::array k_headers = {".h", ".hpp", ".cuh", ".hh", ".hxx", ".inl", ".ipp"};
  return std::any_of(k_headers.begin(), k_headers.end(),
                     [&](const char* ending) { return path.ends_with(ending); });
}

std::string stem_of(const std::string& path) {
  std::string stem = std::filesystem::path(path).stem().string();
  for (char& c : stem)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return stem;
}

/// Each image between two symbols, for cudaLibraryLoadData: ako_image_<stem>, ..._end.
std::string images_text(const std::vector<std::string>& images) {
  std::string text = "// Device images, as they were given or assembled.\n";
  for (const auto& image : images) {
    const std::string name = "ako_image_" + stem_of(image);
    const std::string file = image.ends_with(".ptx") ? stem_of(image) + ".ako.cubin" : image;
    text += fmt::format(
        "__asm__(\".section .rodata\\n.balign 64\\n.globl {0}\\n{0}:\\n"
        ".incbin \\\"{1}\\\"\\n.globl {0}_end\\n{0}_end:\\n.byte 0\\n.previous\\n\");\n",
        name, file);
  }
  return text;
}

std::vector<std::string> architecture_words(const std::vector<Architecture>& architectures) {
  std::vector<std::string> list;
  for (const auto& each : architectures) {
    list.emplace_back("-gencode");
    list.push_back(fmt::format("arch=compute_{0}{1},code=sm_{0}{1}", each.number, each.suffix));
  }
  return list;
}

struct Steps {
  const Tool& tool;
  std::vector<std::string> compile; ///< the words of every command
  std::vector<std::string> link_flags;
  std::vector<Architecture> architectures;
};

/// PTX is assembled for the first architecture; cubins are taken as they are.
void add_image_steps(model::BuildPlan& plan, const Steps& steps,
                     const std::vector<std::string>& images) {
  const auto ptxas = base::fs::path(steps.tool.path).parent_path() / "ptxas";
  for (const auto& image : images) {
    if (!image.ends_with(".ptx")) continue;
    model::BuildStep step;
    step.label = "assemble " + image;
    step.inputs = {image};
    step.outputs = {stem_of(image) + ".ako.cubin"};
    step.argv = {ptxas.string(), "-v", "-lineinfo",    "-arch=" + steps.architectures[0].text(),
                 image,          "-o", step.outputs[0]};
    plan.steps.push_back(std::move(step));
  }
}

/// One command for a single unit; objects, which may be compiled at the same time, and a link for
/// several.
void add_steps(model::BuildPlan& plan, const Steps& steps, const std::vector<std::string>& units,
               const std::vector<std::string>& images) {
  add_image_steps(plan, steps, images);
  std::vector<std::string> objects;
  for (std::size_t i = 0; i < units.size(); ++i) {
    model::BuildStep step;
    step.label = fmt::format("compile {}", i == 0 ? "the entry" : units[i]);
    step.argv = steps.compile;
    step.inputs = {units[i]};
    if (units[i] == k_images_file)
      for (const auto& image : images)
        step.inputs.push_back(image.ends_with(".ptx") ? stem_of(image) + ".ako.cubin" : image);
    plan.depfiles.push_back(fmt::format("ako_unit_{}.d", i));
    const std::string object = fmt::format("ako_unit_{}.o", i);
    step.argv.insert(step.argv.end(), {"-MD", "-MF", plan.depfiles.back()});
    if (units.size() == 1) {
      step.argv.insert(step.argv.end(), steps.link_flags.begin(), steps.link_flags.end());
      step.argv.insert(step.argv.end(), {units[i], "-o", k_library_file});
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
  link.argv = steps.compile;
  link.argv.insert(link.argv.end(), steps.link_flags.begin(), steps.link_flags.end());
  link.argv.insert(link.argv.end(), objects.begin(), objects.end());
  link.argv.insert(link.argv.end(), {"-o", k_library_file});
  link.inputs = objects;
  link.outputs = {k_library_file};
  plan.steps.push_back(std::move(link));
}

base::Status check_entry(const Unit& unit) {
  if (!is_image(unit.entry.file)) return {};
  return fail(ErrorKind::invalid, "a device image is no entry: nothing says how it is launched",
              {.where = "entry.file",
               .found = unit.entry.file,
               .allowed = "a .cu file with a host function that launches it",
               .next = fmt::format("list it in kernel.sources and load ako_image_{} with "
                                   "cudaLibraryLoadData in a .cu entry",
                                   stem_of(unit.entry.file))});
}

std::string joined(const std::vector<Architecture>& list) {
  std::string text;
  for (const auto& each : list) text += (text.empty() ? "" : ", ") + each.text();
  return text;
}

} // namespace

Expected<std::vector<Architecture>> architectures_of(const BuildRequest& request) {
  std::vector<Architecture> list;
  std::optional<Architecture> device;
  if (!request.device_architecture.empty()) {
    AKO_TRY(device, parse_architecture(request.device_architecture));
  }
  for (const auto& name : request.contract->kernel.architectures) {
    AKO_TRY(const Architecture each, parse_architecture(name));
    if (std::find(list.begin(), list.end(), each) == list.end()) list.push_back(each);
  }
  if (list.empty() && device) list.push_back(suited(*device, find_features(request.sources)));
  if (list.empty())
    return fail(ErrorKind::unsupported, "nothing says which architecture to build for",
                {.where = "kernel.architectures",
                 .found = "no architecture in the contract, and no device at hand",
                 .allowed = "a device, or names such as sm_90a",
                 .next = "write architectures = [\"sm_90a\"] in [kernel] of task.toml"});
  const bool runs = !device || std::any_of(list.begin(), list.end(), [&](const Architecture& each) {
    return runs_on(each, *device);
  });
  if (runs) return list;
  return fail(
      ErrorKind::unsupported, "code for these architectures does not run on the device",
      {.where = "kernel.architectures",
       .found = fmt::format("{}; the device is {}", joined(list), device->text()),
       .allowed = fmt::format("{0}, or {0}a for what only this kind of device has", device->text()),
       .next = fmt::format("add \"{}\"", suited(*device, find_features(request.sources)).text())});
}

Expected<std::vector<std::string>> flags_of(const Unit& unit, const Dialect& dialect) {
  std::vector<std::string> flags = {"-Xcompiler", "-fPIC,-fvisibility=hidden", "-cudart", "static"};
  if (!any_starts(unit.flags, "-std=") && !any_starts(unit.flags, "--std"))
    flags.push_back(dialect.standard);
  flags.insert(flags.end(), dialect.words.begin(), dialect.words.end());
  if (!any_starts(unit.flags, "-O")) flags.push_back("-O3");
  if (!any_starts(unit.flags, "-G") && !any_starts(unit.flags, "--device-debug"))
    flags.push_back("-lineinfo");
  flags.insert(flags.end(), {"-Xptxas", "-v"});
  for (const auto& flag : unit.flags) {
    if (is_refused(flag))
      return fail(ErrorKind::invalid, "a flag for nvcc that ako sets itself or cannot allow",
                  {.where = "kernel.flags",
                   .found = flag,
                   .allowed =
                       "language, optimisation, warning, macro and library flags; folders of "
                       "the task to search stand in kernel.include_dirs, architectures in "
                       "kernel.architectures",
                   .next = "remove the flag"});
    if (flag != "-lineinfo" && flag != "--generate-line-info") flags.push_back(flag);
  }
  return flags;
}

Expected<model::BuildPlan> plan_in(const Dialect& dialect, const BuildRequest& request,
                                   const Tool& tool, const Surroundings& around) {
  AKO_TRY(const Unit unit, unit_of(request));
  AKO_TRY_STATUS(check_sources(request, unit));
  AKO_TRY_STATUS(check_entry(unit));
  AKO_TRY_STATUS(check_assembly(request));
  AKO_TRY(auto flags, flags_of(unit, dialect));
  AKO_TRY(const auto architectures, architectures_of(request));
  for (const auto& dir : request.contract->kernel.include_dirs) flags.push_back("-I" + dir);
  AKO_TRY(std::string shim, shim_text(*request.contract, dialect.lane, request.role, unit));
  model::BuildPlan plan;
  plan.label = label_of(request.role, request.baseline);
  plan.snapshot = request.sources.snapshot.hash;
  plan.task_dir = request.task_dir.string();
  plan.files = request.sources.texts;
  plan.files.push_back({k_shim_file, std::move(shim), false});
  plan.files.push_back(
      {k_map_file, "{ global: ako_call; ako_prepare; ako_plan; local: *; };\n", false});

  Steps steps{tool, tool.command, {}, architectures};
  const auto words = architecture_words(architectures);
  steps.compile.insert(steps.compile.end(), words.begin(), words.end());
  // Uncompressed images can be read back: their headers confirm what ptxas says.
  if (release_of(tool.version).at_least(12, 8)) steps.compile.push_back("--compress-mode=none");
  steps.compile.insert(steps.compile.end(), flags.begin(), flags.end());
  steps.link_flags = {"-shared", "-Xlinker", std::string("--version-script=") + k_map_file,
                      "-Xlinker", "-z,defs"};
  std::vector<std::string> units = {k_shim_file}, images;
  for (const auto& source : unit.sources) {
    if (is_image(source)) images.push_back(source);
    else if (!is_header(source)) units.push_back(source);
  }
  if (!images.empty()) {
    plan.files.push_back({k_images_file, images_text(images), false});
    units.emplace_back(k_images_file);
  }
  add_steps(plan, steps, units, images);
  plan.system_dirs = tool.system_dirs;
  plan.library = k_library_file;
  plan.environment = nvcc_environment(around);
  plan.deadline_seconds = request.contract->limits.build_seconds;
  plan.tool_identity = tool.identity;
  plan.key = key_of(plan, around);
  return plan;
}

Expected<model::BuildPlan> Driver::plan(const BuildRequest& request, const Tool& tool,
                                        const Surroundings& around) const {
  return plan_in({}, request, tool, around);
}

Expected<Tool> Driver::find_tool(const model::Contract& contract,
                                 const Surroundings& around) const {
  return find_nvcc(contract.kernel.lane == model::Lane::cuda ? contract.kernel.compiler : "",
                   around);
}

Probe Driver::probe(const std::string& compiler, const Surroundings& around,
                    const base::fs::path& scratch) const {
  return probe_nvcc(compiler, around, scratch);
}

} // namespace ako::lanes::cuda
