#include "lanes/cute_dsl/driver.hpp"

#include "lanes/triton/driver.hpp"
#include "lanes/triton/interpreter.hpp"
#include "lanes/triton/python.hpp"

#include <fmt/format.h>

namespace ako::lanes::cute_dsl {

using base::Expected;

Expected<Tool> Driver::find_tool(const model::Contract& contract,
                                 const Surroundings& around) const {
  return triton::find_tool_in(lane(), contract, around);
}

Expected<model::BuildPlan> Driver::plan(const BuildRequest& request, const Tool& tool,
                                        const Surroundings& around) const {
  return triton::plan_in(lane(), request, tool, around);
}

BuildResult Driver::read(const BuildRequest& request, const model::BuildPlan& plan,
                         const model::BuildRun& run) const {
  return triton::read_in(lane(), request, plan, run);
}

model::LaunchSpec Driver::launch_spec(const BuildRequest& request,
                                      const model::Artifact& artifact) const {
  return triton::launch_spec_in(lane(), request, artifact);
}

Expected<model::SourceText> Driver::microbench(const model::Contract& contract) const {
  // The same program: it calls the entry on torch tensors and looks at device timestamps.
  return triton::Driver().microbench(contract);
}

Probe Driver::probe(const std::string& compiler, const Surroundings& around,
                    const base::fs::path&) const {
  Probe probe;
  auto tool = triton::find_interpreter(compiler, around, &probe.looked);
  if (!tool) {
    probe.summary = tool.error().message + ": " + tool.error().found;
    probe.next = tool.error().next;
    return probe;
  }
  probe.tool = *tool;
  const bool dsl = tool->version.find(", nvidia-cutlass-dsl ") != std::string::npos;
  const bool torch = tool->version.find(", torch ") != std::string::npos;
  probe.works = dsl && torch;
  probe.summary = fmt::format("{} at {}, chosen by {}", tool->version, tool->path, tool->chosen_by);
  if (probe.works) return probe;
  probe.summary += fmt::format("; {} missing", dsl     ? "torch is"
                                               : torch ? "nvidia-cutlass-dsl is"
                                                       : "nvidia-cutlass-dsl and torch are");
  probe.next =
      "install them there (pip install nvidia-cutlass-dsl, with [cu13] for CUDA 13; wheels "
      "travel to machines without a network), or name another interpreter in "
      "kernel.compiler or AKO_PYTHON";
  return probe;
}

} // namespace ako::lanes::cute_dsl
