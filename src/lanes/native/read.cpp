// From what came of a plan to an artifact, or to the one message that says why there is none.
#include "lanes/native/read.hpp"

#include "base/cpp_scan.hpp"
#include "lanes/native/machine_fault.hpp"
#include "lanes/native/messages.hpp"
#include "lanes/native/unit.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::lanes::native {

using base::Error;
using base::ErrorKind;
using model::OutcomeKind;

namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string command_line(const std::vector<std::string>& argv) {
  return fmt::format("{}", fmt::join(argv, " "));
}

/// Quoted includes of the staged files that lead out of the task by their words alone.
std::optional<std::string> include_outside(const model::BuildPlan& plan) {
  for (const auto& file : plan.files)
    for (const auto& include : base::find_includes(file.content)) {
      const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
      const std::string path = (folder / include.name).lexically_normal().generic_string();
      if (include.quoted && path.starts_with("../"))
        return fmt::format("{} (line {} of {})", include.name, include.line, file.path);
    }
  return std::nullopt;
}

Error outside_error(const std::string& label, const std::string& found) {
  return {ErrorKind::invalid,
          fmt::format("the {} includes a file outside the task", label),
          label,
          found,
          "files below the task's folder, and the compiler's own headers",
          "copy the file into the task (solution/ or input/) and include it from there, whatever "
          "folders kernel.flags name; folders of the task are searched by kernel.include_dirs"};
}

Error compiler_error(const BuildRequest& request, const model::StepRun& step,
                     const BuildResult& result) {
  const std::string label = label_of(request.role, request.baseline);
  Error error{ErrorKind::invalid, fmt::format("the {} does not compile", label), label, {}, {}, {}};
  if (!result.messages.empty() && result.messages[0].severity == "error") {
    const auto& first = result.messages[0];
    if (!first.file.empty())
      error.where = fmt::format("{}:{}:{}", first.file, first.line, first.column);
    error.found = first.text;
    if (!first.source_line.empty()) error.found += fmt::format(" | {}", first.source_line);
  } else if (auto linker = first_linker_error(said_by(step))) {
    error.message = fmt::format("the {} does not link", label);
    error.found = *linker;
    error.next = "define it, add its file to kernel.sources, or its library to kernel.flags";
    return error;
  } else {
    error.found = fmt::format("{}: {}", step.result.ending.text(), said_by(step).substr(0, 400));
  }
  error.next = "correct the source";
  if (!result.log_path.empty())
    error.next += fmt::format("; everything the compiler said is in {}", result.log_path);
  return error;
}

void read_failed_step(const BuildRequest& request, const model::BuildPlan& plan,
                      const model::StepRun& step, const Words& lane, BuildResult& result) {
  const std::string label = label_of(request.role, request.baseline);
  if (step.result.timed_out)
    return set_failure(
        result, OutcomeKind::timeout,
        {ErrorKind::timeout,
         fmt::format("the compiler did not finish the {} in {} s", label, plan.deadline_seconds),
         step.label,
         "it was ended with all it had started",
         {},
         "make the source simpler, or raise limits.build_seconds"});
  const std::string said = said_by(step);
  if (auto fault = machine_fault(said, result.messages))
    return set_failure(result, OutcomeKind::environment, std::move(*fault));
  if (lane.explain)
    if (auto error = lane.explain(said)) {
      const bool machine = error->kind == ErrorKind::environment;
      return set_failure(result, machine ? OutcomeKind::environment : kind_for(request.role),
                         std::move(*error));
    }
  const auto unit = unit_of(request);
  AKO_CHECK(unit.has_value(), "a plan without a unit");
  if (contains(said, "No such file") || contains(said, "file not found") ||
      contains(said, "cannot open source file"))
    if (auto found = include_outside(plan))
      return set_failure(result, kind_for(request.role), outside_error(label, *found));
  if (auto error = explain_shim_error(said, lane.lane, *request.contract, request.role, unit->entry,
                                      request.sources))
    return set_failure(result, kind_for(request.role), std::move(*error));
  set_failure(result, kind_for(request.role), compiler_error(request, step, result));
}

const model::StepRun* failed_step(const model::BuildRun& run) {
  for (const auto& step : run.steps)
    if (!step.result.ok()) return &step;
  return nullptr;
}

} // namespace

OutcomeKind kind_for(Role role) {
  const bool of_candidate = role == Role::candidate || role == Role::incumbent;
  return of_candidate ? OutcomeKind::build_failed : OutcomeKind::task_error;
}

void set_failure(BuildResult& result, OutcomeKind kind, Error error) {
  result.outcome.kind = kind;
  result.outcome.fault = model::default_fault(kind);
  result.outcome.reason = error.message;
  if (!error.found.empty()) result.outcome.reason += ": " + error.found.substr(0, 400);
  result.error = std::move(error);
}

std::string said_by(const model::StepRun& step) { return step.result.err + step.result.out; }

BuildResult read_run(const BuildRequest& request, const model::BuildPlan& plan,
                     const model::BuildRun& run, const Words& lane) {
  BuildResult result;
  result.log_path = run.log_path;
  std::string said;
  for (const auto& step : run.steps) said += said_by(step);
  result.messages = parse_messages(said, request.sources);

  if (!run.missing_tools.empty()) {
    set_failure(result, OutcomeKind::environment,
                {ErrorKind::environment,
                 "the compiler could not be started",
                 plan.steps[0].argv[0],
                 run.missing_tools[0],
                 {},
                 lane.remedy});
    return result;
  }
  if (const auto* failed = failed_step(run)) {
    read_failed_step(request, plan, *failed, lane, result);
    return result;
  }
  if (!run.outside.empty()) {
    set_failure(result, kind_for(request.role),
                outside_error(plan.label, fmt::format("{}", fmt::join(run.outside, ", "))));
    return result;
  }
  if (run.library_path.empty()) {
    set_failure(result, OutcomeKind::environment,
                {ErrorKind::environment, "the compiler ended well but wrote no library",
                 plan.steps.back().argv[0], plan.tool_identity, "a compiler that compiles",
                 "run `ako doctor`; " + lane.remedy});
    return result;
  }
  model::Artifact artifact;
  artifact.snapshot = request.sources.snapshot.hash;
  artifact.library_hash = run.library_hash;
  artifact.library_path = run.library_path;
  artifact.cache_key = run.cache_key;
  for (const auto& step : plan.steps)
    artifact.compile_line +=
        (artifact.compile_line.empty() ? "" : " && ") + command_line(step.argv);
  artifact.compiler_identity = plan.tool_identity;
  artifact.messages = result.messages;
  artifact.build_seconds = run.seconds;
  artifact.from_cache = run.from_cache;
  result.artifact = std::move(artifact);
  return result;
}

model::LaunchSpec launch_spec_of(const BuildRequest& request, const model::Artifact& artifact,
                                 model::Lane lane) {
  model::LaunchSpec spec;
  spec.lane = lane;
  spec.label = label_of(request.role, request.baseline);
  spec.library_path = artifact.library_path;
  spec.library_hash = artifact.library_hash;
  const auto unit = unit_of(request);
  spec.has_prepare = unit && !unit->prepare.empty();
  spec.has_plan = unit && !unit->plan.empty();
  return spec;
}

} // namespace ako::lanes::native
