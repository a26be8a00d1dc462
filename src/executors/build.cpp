#include "executors/build.hpp"

#include "executors/cache.hpp"
#include "executors/stage.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <numeric>
#include <set>
#include <thread>

namespace ako::executors {

using base::ErrorKind;
using base::Expected;
namespace fs = base::fs;

namespace {

/// Of each stream of each step: a template error of ten thousand lines fits many times over.
constexpr std::size_t k_capture_bytes = 16u << 20;

/// A failure to write below the cache or the temporary folder, with what to do about it.
base::Error with_remedy(base::Error error, const fs::path& cache_dir) {
  if (error.kind == ErrorKind::io)
    error.next = fmt::format("free some space or make the folder writable, or set XDG_CACHE_HOME "
                             "(now {}) and TMPDIR to folders that are",
                             cache_dir.parent_path().parent_path().string());
  return error;
}

base::Deadline sooner(base::Deadline a, base::Deadline b) {
  return a.remaining_ns() < b.remaining_ns() ? a : b;
}

/// The steps of `waiting` that need nothing another of them makes.
std::vector<std::size_t> ready_steps(const model::BuildPlan& plan,
                                     const std::vector<std::size_t>& waiting) {
  std::set<std::string> to_come;
  for (const std::size_t i : waiting)
    to_come.insert(plan.steps[i].outputs.begin(), plan.steps[i].outputs.end());
  std::vector<std::size_t> ready;
  for (const std::size_t i : waiting) {
    const auto& inputs = plan.steps[i].inputs;
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](const std::string& name) { return to_come.contains(name); }))
      ready.push_back(i);
  }
  // A plan whose steps wait for each other is run in its own order.
  if (ready.empty()) ready.push_back(waiting.front());
  return ready;
}

/// Runs the steps, those that need nothing of each other at the same time, until one fails. True =
/// all went well.
bool run_steps(const model::BuildPlan& plan, const Stage& stage, const BuildOptions& options,
               model::BuildRun& run) {
  const base::Deadline deadline =
      sooner(options.deadline, base::Deadline::after_seconds(plan.deadline_seconds));
  const auto run_one = [&](std::size_t index) {
    base::CommandOptions command;
    command.argv = plan.steps[index].argv;
    command.env = plan.environment;
    command.env->push_back("TMPDIR=" + stage.temporary().string());
    command.cwd = stage.root().string();
    command.deadline = deadline;
    command.capture_bytes = k_capture_bytes;
    command.limits.core_bytes = 0;
    return options.runner(command);
  };
  const std::size_t most = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::size_t> waiting(plan.steps.size());
  std::iota(waiting.begin(), waiting.end(), std::size_t{0});
  while (!waiting.empty()) {
    auto batch = ready_steps(plan, waiting);
    batch.resize(std::min(batch.size(), most));
    std::vector<std::future<Expected<base::CommandResult>>> others;
    for (std::size_t i = 1; i < batch.size(); ++i)
      others.push_back(std::async(std::launch::async, run_one, batch[i]));
    bool ok = true;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto result = i == 0 ? run_one(batch[0]) : others[i - 1].get();
      if (!result) run.missing_tools.push_back(result.error().text());
      ok = ok && result && result->ok();
      if (result) run.steps.push_back({plan.steps[batch[i]].label, std::move(*result)});
      std::erase(waiting, batch[i]);
    }
    if (!ok) return false;
  }
  return true;
}

Expected<model::BuildRun> build_in(const model::BuildPlan& plan, const BuildOptions& options,
                                   const BuildCache& cache) {
  AKO_TRY(const Stage stage, Stage::make(plan));
  model::BuildRun run;
  const std::int64_t start = base::monotonic_ns();
  const bool ok = run_steps(plan, stage, options, run);
  run.seconds = static_cast<double>(base::monotonic_ns() - start) * 1e-9;
  std::error_code why;
  const fs::path library = stage.root() / plan.library;
  if (!ok || !fs::is_regular_file(library, why)) {
    AKO_TRY_STATUS(cache.keep_log(run));
    return run;
  }
  AKO_TRY(const Dependencies dependencies, sort_dependencies(plan, stage));
  run.in_task = dependencies.in_task;
  run.outside = dependencies.outside;
  if (!run.outside.empty()) return run; // not lawful: never to be loaded, so not kept
  AKO_TRY_STATUS(cache.keep(library, dependencies, run));
  return run;
}

} // namespace

Expected<model::BuildRun> run_build(const model::BuildPlan& plan, const BuildOptions& options) {
  AKO_CHECK(plan.key.size() == 64, "a plan without a key");
  const BuildCache cache(options.cache_dir, plan);
  if (options.cache == BuildOptions::Cache::use)
    if (auto found = cache.find()) return std::move(*found);
  auto run = build_in(plan, options, cache);
  if (!run) return tl::unexpected(with_remedy(std::move(run).error(), options.cache_dir));
  return run;
}

} // namespace ako::executors
