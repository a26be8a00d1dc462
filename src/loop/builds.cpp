#include "loop/builds.hpp"

#include "executors/runner.hpp"
#include "lanes/registry.hpp"
#include "loop/interrupt.hpp"
#include "workspace/snapshot.hpp"

namespace ako::loop {

Builder::Builder(const workspace::Workdir& workdir, const model::Contract& contract,
                 std::string device_architecture)
    : m_workdir(workdir), m_contract(contract), m_architecture(std::move(device_architecture)) {}

std::string Builder::compiler() const {
  const std::lock_guard lock(m_mutex);
  return m_compiler;
}

namespace {

/// This machine's runner; what it runs ends when the user asks to stop.
model::CommandRunner stoppable_runner() {
  return [run = executors::local_runner()](base::CommandOptions command) {
    command.stop = [] { return interrupted(); };
    return run(command);
  };
}

tl::unexpected<base::Error> stopped() {
  return base::fail(
      base::ErrorKind::interrupted, "stopped while building; nothing was decided",
      {.where = "the compiler", .found = {}, .allowed = {}, .next = "run the same command again"});
}

/// Triton starts an assembler and a C compiler; the CuTe DSL does all in its own process, and keeps
/// what it compiled as well.
bool compiles_while_it_runs(const model::LaunchSpec& spec) {
  const auto imports = spec.environment.find("AKO_IMPORTS");
  if (imports == spec.environment.end()) return false;
  return imports->second.find("triton") != std::string::npos ||
         imports->second.find("cutlass") != std::string::npos;
}

} // namespace

base::Expected<BuildOutcome> Builder::build(model::Lane lane, lanes::BuildRequest request) {
  auto outcome = build_to_the_end(lane, std::move(request));
  if (interrupted()) return stopped();
  return outcome;
}

base::Expected<BuildOutcome> Builder::build_to_the_end(model::Lane lane,
                                                       lanes::BuildRequest request) {
  AKO_TRY(const lanes::LaneDriver* driver, lanes::find_lane(lane));
  auto around = lanes::Surroundings::of_this_process(stoppable_runner(),
                                                     workspace::Workdir::cache_root() / "tools");
  AKO_TRY(lanes::Tool tool, driver->find_tool(*request.contract, around));
  if (lane == m_contract.kernel.lane) {
    const std::lock_guard lock(m_mutex);
    if (m_compiler.empty()) m_compiler = tool.version;
  }
  request.device_architecture = m_architecture;
  AKO_TRY(model::BuildPlan plan, driver->plan(request, tool, around));
  executors::BuildOptions options;
  options.cache_dir = workspace::Workdir::build_cache();
  options.runner = stoppable_runner();
  options.deadline = base::Deadline::after_seconds(request.contract->limits.build_seconds);
  AKO_TRY(model::BuildRun run, executors::run_build(plan, options));
  BuildOutcome out;
  out.result = driver->read(request, plan, run);
  if (!out.result.artifact) return out;
  Built built;
  built.artifact = *out.result.artifact;
  built.spec = driver->launch_spec(request, built.artifact);
  // What compiles while it runs keeps that in a folder of this artifact alone.
  if (!built.spec.host.empty() && compiles_while_it_runs(built.spec)) {
    built.spec.keep_dir =
        (workspace::Workdir::cache_root() / "compiled" / built.artifact.library_hash).string();
    built.spec.environment["TRITON_CACHE_DIR"] = built.spec.keep_dir;
    built.spec.environment["TRITON_CACHE_AUTOTUNING"] = "1";
    built.spec.environment["CUTE_DSL_CACHE_DIR"] = built.spec.keep_dir;
  }
  // The record moves from machine to machine: where the library lies on this one is the spec's.
  built.artifact.library_path = base::fs::path(built.artifact.library_path).filename().string();
  built.sources = std::move(request.sources);
  built.label = lanes::label_of(request.role, request.baseline);
  out.built = std::move(built);
  return out;
}

base::Expected<BuildOutcome> Builder::from_sources(model::Sources sources, lanes::Role role,
                                                   const std::vector<std::string>& extra_flags) {
  model::Contract contract = m_contract;
  contract.kernel.flags.insert(contract.kernel.flags.end(), extra_flags.begin(), extra_flags.end());
  lanes::BuildRequest request;
  request.contract = &contract;
  request.role = role;
  request.sources = std::move(sources);
  request.task_dir = m_workdir.task();
  return build(contract.kernel.lane, std::move(request));
}

base::Expected<BuildOutcome> Builder::candidate(const std::vector<std::string>& extra_flags) {
  AKO_TRY(model::Sources sources, workspace::take_snapshot(m_workdir, m_contract));
  return from_sources(std::move(sources), lanes::Role::candidate, extra_flags);
}

base::Expected<BuildOutcome> Builder::reference() {
  lanes::BuildRequest request;
  request.contract = &m_contract;
  request.role = lanes::Role::reference;
  AKO_TRY(request.sources, workspace::take_sources(m_workdir, {m_contract.reference.entry.file}));
  request.task_dir = m_workdir.task();
  return build(m_contract.reference.lane, std::move(request));
}

base::Expected<BuildOutcome> Builder::baseline(const std::string& name) {
  for (const auto& baseline : m_contract.baselines) {
    if (baseline.name != name) continue;
    lanes::BuildRequest request;
    request.contract = &m_contract;
    request.role = lanes::Role::baseline;
    request.baseline = name;
    std::vector<std::string> paths = {baseline.entry.file};
    paths.insert(paths.end(), baseline.sources.begin(), baseline.sources.end());
    AKO_TRY(request.sources, workspace::take_sources(m_workdir, paths));
    request.task_dir = m_workdir.task();
    return build(baseline.lane, std::move(request));
  }
  std::string names;
  for (const auto& baseline : m_contract.baselines)
    names += (names.empty() ? "" : ", ") + baseline.name;
  return base::fail(base::ErrorKind::usage, "no such baseline",
                    {.where = "task.toml [[baseline]]",
                     .found = name,
                     .allowed = names.empty() ? "none is declared" : names,
                     .next = "name one of them, or add it to task.toml"});
}

std::future<base::Expected<BuildOutcome>>
begin_build(std::function<base::Expected<BuildOutcome>()> build) {
  return std::async(std::launch::async, std::move(build));
}

base::Expected<Built> must_build(base::Expected<BuildOutcome> outcome) {
  if (!outcome) return tl::unexpected(outcome.error());
  if (outcome->built) return std::move(*outcome->built);
  if (outcome->result.error) return tl::unexpected(*outcome->result.error);
  return base::fail(base::ErrorKind::invalid, outcome->result.outcome.reason,
                    {.where = {}, .found = {}, .allowed = {}, .next = {}});
}

} // namespace ako::loop
