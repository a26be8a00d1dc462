#include "lanes/cpu/fill.hpp"

#include "lanes/cpu/compiler.hpp"
#include "lanes/native/messages.hpp"
#include "lanes/native/read.hpp"
#include "lanes/native/tools.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::lanes::cpu {

using base::ErrorKind;
using base::fail;

namespace {

constexpr const char* k_fill_shim = "ako_fill.cpp";
constexpr const char* k_fill_library = "ako_fill.so";
constexpr const char* k_dep_file = "ako_fill.d";
constexpr const char* k_assembler_file = "ako_fill.as.d";

/// The function has whatever linkage and namespace its author gave it; the library has one name.
std::string shim_of(const FillRequest& request) {
  return fmt::format(
      "#include <cstdint>\n#include \"{}\"\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) int {}(void* data, std::int64_t "
      "bytes, const std::int64_t* shape, int rank, std::uint64_t seed) {{\n"
      "  return {}(data, bytes, shape, rank, seed);\n}}\n",
      request.entry.file, request.exported, request.entry.symbol);
}

std::string whose(const FillRequest& request) { return "fill of tensor " + request.tensor; }

} // namespace

model::BuildPlan fill_plan(const FillRequest& request, const Tool& tool,
                           const Surroundings& around) {
  model::BuildPlan plan;
  plan.label = whose(request);
  plan.snapshot = request.sources.snapshot.hash;
  plan.task_dir = request.task_dir.string();
  plan.files = request.sources.texts;
  plan.files.push_back({k_fill_shim, shim_of(request), false});
  model::BuildStep step;
  step.label = "compile the " + plan.label;
  step.argv = tool.command;
  // What a fill writes must not depend on the machine: no -march, no fast mathematics.
  step.argv.insert(step.argv.end(), {"-shared", "-fPIC", "-fvisibility=hidden", "-std=gnu++20",
                                     "-O2", "-fdiagnostics-color=never"});
  for (const auto& dir : request.include_dirs) step.argv.push_back("-I" + dir);
  step.argv.insert(step.argv.end(),
                   {"-MD", "-MF", k_dep_file, k_fill_shim, "-o", k_fill_library, "-Wl,-z,defs"});
  if (lists_assembly(tool)) {
    plan.assembler_depfiles = {k_assembler_file};
    step.argv.push_back(std::string("-Wa,--MD,") + k_assembler_file);
  }
  step.inputs = {k_fill_shim};
  step.outputs = {k_fill_library};
  plan.steps.push_back(std::move(step));
  plan.depfiles = {k_dep_file};
  plan.system_dirs = tool.system_dirs;
  plan.library = k_fill_library;
  plan.environment = native::compiler_environment(around);
  plan.deadline_seconds = request.build_seconds;
  plan.tool_identity = tool.identity;
  base::Hasher hasher;
  hasher.add_field("custom fill 1").add_field(tool.identity);
  for (const auto& word : plan.steps[0].argv) hasher.add_field(word);
  for (const auto& file : plan.files) hasher.add_field(file.path).add_field(file.content);
  for (const auto& entry : plan.environment) hasher.add_field(entry);
  plan.key = hasher.finish();
  return plan;
}

base::Status read_fill(const FillRequest& request, const model::BuildPlan& plan,
                       const model::BuildRun& run) {
  if (!run.missing_tools.empty())
    return fail(ErrorKind::environment, "the compiler of a custom fill could not be started",
                {.where = plan.steps[0].argv[0],
                 .found = run.missing_tools[0],
                 .allowed = "a C++ compiler of the host: g++ or clang++",
                 .next = "install one, or name it in CXX"});
  if (!run.outside.empty())
    return fail(ErrorKind::invalid, "the " + plan.label + " includes a file outside the task",
                {.where = request.entry.file,
                 .found = fmt::format("{}", fmt::join(run.outside, ", ")),
                 .allowed = "files below the task's folder, and the compiler's own headers",
                 .next = "copy the file into the task and include it from there"});
  if (!run.library_path.empty()) return {};
  const model::StepRun* step = run.steps.empty() ? nullptr : &run.steps.front();
  if (step && step->result.timed_out)
    return fail(ErrorKind::timeout, "the compiler did not finish the " + plan.label,
                {.where = request.entry.file,
                 .found = fmt::format("it was ended after {} s", plan.deadline_seconds),
                 .allowed = "limits.build_seconds",
                 .next = "make the source simpler, or raise limits.build_seconds"});
  const std::string said = step ? native::said_by(*step) : "";
  std::string where = request.entry.file, found = said.substr(0, 400);
  for (const auto& message : native::parse_messages(said, request.sources)) {
    if (message.severity != "error") continue;
    found = message.text;
    if (!message.file.empty() && message.file != k_fill_shim)
      where = fmt::format("{}:{}:{}", message.file, message.line, message.column);
    break;
  }
  return fail(ErrorKind::invalid, "the " + plan.label + " does not compile",
              {.where = std::move(where),
               .found = std::move(found),
               .allowed = request.entry.symbol + ": " + k_fill_signature,
               .next = "correct the file, or fill.symbol"});
}

} // namespace ako::lanes::cpu
