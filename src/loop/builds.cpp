#include "loop/builds.hpp"

#include "base/hash.hpp"
#include "executors/runner.hpp"
#include "inputs/custom_fill.hpp"
#include "lanes/cpu/driver.hpp"
#include "lanes/cpu/fill.hpp"
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

/// A shared object of the task is loaded as it is.
bool is_built_already(const std::string& file) { return base::fs::path(file).extension() == ".so"; }

std::vector<model::SourceFile> in_task(const model::BuildRun& run, const base::fs::path& task) {
  std::error_code code;
  const base::fs::path root = base::fs::canonical(task, code);
  std::vector<model::SourceFile> out;
  for (const auto& file : run.in_task)
    out.push_back(
        {base::fs::path(file.path).lexically_relative(root).generic_string(), file.hash, 0});
  return out;
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
  if (!out.result.artifact) {
    out.sources = std::move(request.sources);
    return out;
  }
  Built built;
  built.headers = in_task(run, m_workdir.task());
  built.artifact = *out.result.artifact;
  built.spec = driver->launch_spec(request, built.artifact);
  // What compiles while it runs keeps that in a folder of this artifact alone.
  if (!built.spec.host.empty() && compiles_while_it_runs(built.spec)) {
    built.spec.keep_dir =
        (workspace::Workdir::cache_root() / "compiled" / built.artifact.library_hash).string();
    built.spec.environment["TRITON_CACHE_DIR"] = built.spec.keep_dir;
    built.spec.environment["TRITON_CACHE_AUTOTUNING"] = "1";
    // What every worker of this interpreter compiles before anything of the artifact is loaded.
    built.spec.environment["AKO_SHARED_CACHE"] =
        (workspace::Workdir::cache_root() / "compiled" / ("tools-" + base::sha256(tool.identity)))
            .string();
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

base::Expected<BuildOutcome> Builder::from_kernel(model::Sources sources, lanes::Role role,
                                                  const model::Kernel& kernel) {
  model::Contract contract = m_contract;
  contract.kernel = kernel;
  lanes::BuildRequest request;
  request.contract = &contract;
  request.role = role;
  request.sources = std::move(sources);
  request.task_dir = m_workdir.task();
  return build(kernel.lane, std::move(request));
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

base::Expected<std::vector<FillFile>> Builder::fills() {
  std::vector<FillFile> out;
  for (std::size_t i = 0; i < m_contract.tensors.size(); ++i) {
    const model::Tensor& tensor = m_contract.tensors[i];
    if (tensor.fill.file.empty()) continue;
    FillFile fill;
    fill.index = static_cast<int>(i);
    fill.tensor = tensor.name;
    if (tensor.fill.kind == model::Fill::custom && !is_built_already(tensor.fill.file)) {
      AKO_TRY_STATUS(build_fill(tensor, fill));
    } else {
      fill.read.push_back({tensor.fill.file, {}, 0});
    }
    out.push_back(std::move(fill));
  }
  return out;
}

base::Status Builder::build_fill(const model::Tensor& tensor, FillFile& fill) {
  auto around = lanes::Surroundings::of_this_process(stoppable_runner(),
                                                     workspace::Workdir::cache_root() / "tools");
  // kernel.compiler names the lane's; a fill runs on the host, whatever the lane.
  model::Contract contract = m_contract;
  if (contract.kernel.lane != model::Lane::cpu) contract.kernel.compiler.clear();
  AKO_TRY(lanes::Tool tool, lanes::cpu::Driver().find_tool(contract, around));
  lanes::cpu::FillRequest request;
  request.tensor = tensor.name;
  request.entry = {tensor.fill.file, tensor.fill.symbol};
  request.exported = inputs::k_fill_symbol;
  request.include_dirs = m_contract.kernel.include_dirs;
  request.build_seconds = m_contract.limits.build_seconds;
  request.task_dir = m_workdir.task();
  AKO_TRY(request.sources, workspace::take_sources(m_workdir, {tensor.fill.file}));
  const model::BuildPlan plan = lanes::cpu::fill_plan(request, tool, around);
  executors::BuildOptions options;
  options.cache_dir = workspace::Workdir::build_cache();
  options.runner = stoppable_runner();
  options.deadline = base::Deadline::after_seconds(m_contract.limits.build_seconds);
  AKO_TRY(const model::BuildRun run, executors::run_build(plan, options));
  if (interrupted()) return stopped();
  AKO_TRY_STATUS(lanes::cpu::read_fill(request, plan, run));
  fill.library = run.library_path;
  fill.read = request.sources.snapshot.files;
  for (auto& file : in_task(run, m_workdir.task())) fill.read.push_back(std::move(file));
  return {};
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
                    {.where = "task.toml",
                     .found = model::to_string(outcome->result.outcome.kind),
                     .allowed = "a side that builds",
                     .next = "ako check --build-only shows what the compiler says"});
}

} // namespace ako::loop
