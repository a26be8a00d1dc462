#include "executors/cache.hpp"

#include "base/json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

namespace ako::executors {

using base::Json;
namespace fs = base::fs;

namespace {

constexpr int k_format = 1;

Json steps_to_json(const std::vector<model::StepRun>& steps) {
  Json list = Json::array();
  for (const auto& step : steps)
    list.push_back({{"label", step.label},
                    {"stdout", step.result.out},
                    {"stderr", step.result.err},
                    {"wall_ns", step.result.wall_ns}});
  return list;
}

std::vector<model::StepRun> steps_from_json(const Json& list) {
  std::vector<model::StepRun> steps;
  for (const auto& entry : list) {
    model::StepRun step;
    step.label = base::get_or<std::string>(entry, "label", {});
    step.result.out = base::get_or<std::string>(entry, "stdout", {});
    step.result.err = base::get_or<std::string>(entry, "stderr", {});
    step.result.wall_ns = base::get_or<std::int64_t>(entry, "wall_ns", 0);
    step.result.ending.exited = true;
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<std::string> strings_of(const Json& object, std::string_view key) {
  std::vector<std::string> list;
  for (const auto& entry : base::get_or<Json>(object, key, Json::array()))
    if (entry.is_string()) list.push_back(entry.get<std::string>());
  return list;
}

std::string log_text(const model::BuildRun& run) {
  std::string text;
  for (const auto& step : run.steps) {
    const auto& result = step.result;
    if (result.out.empty() && result.err.empty()) continue;
    text += fmt::format("== {}\n{}{}\n", step.label, result.out, result.err);
    if (const auto lost = result.out_dropped + result.err_dropped; lost > 0)
      text += fmt::format("== {} more bytes were not kept\n", lost);
  }
  return text;
}

} // namespace

BuildCache::BuildCache(fs::path dir, const model::BuildPlan& plan)
    : m_plan(plan), m_entry(std::move(dir) / plan.key.substr(0, 2) / plan.key) {}

std::optional<model::BuildRun> BuildCache::read_manifest(const fs::path& manifest) const {
  auto text = base::read_file(manifest);
  if (!text) return std::nullopt;
  auto json = base::parse_json(*text, manifest.string());
  if (!json || base::get_or<std::int64_t>(*json, "format", 0) != k_format) return std::nullopt;

  model::BuildRun run;
  for (const auto& entry : base::get_or<Json>(*json, "in_task", Json::array())) {
    const auto path =
        fs::path(m_plan.task_dir) / base::get_or<std::string>(entry, "path", std::string("?"));
    auto hash = base::sha256_file(path);
    if (!hash || *hash != base::get_or<std::string>(entry, "hash", {})) return std::nullopt;
    run.in_task.push_back({path.string(), std::move(*hash)});
  }
  if (state_of(strings_of(*json, "tools")) != base::get_or<std::string>(*json, "tools_state", {}))
    return std::nullopt;

  run.library_hash = base::get_or<std::string>(*json, "library", {});
  const fs::path library = m_entry / fmt::format("lib-{}.so", run.library_hash);
  auto hash = base::sha256_file(library);
  if (!hash || *hash != run.library_hash) return std::nullopt; // torn or touched: build again
  run.from_cache = true;
  run.library_path = library.string();
  run.cache_key = m_plan.key;
  run.steps = steps_from_json(base::get_or<Json>(*json, "steps", Json::array()));
  run.seconds = base::get_or<double>(*json, "seconds", 0.0);
  run.log_path = base::get_or<std::string>(*json, "log", {});
  return run;
}

std::optional<model::BuildRun> BuildCache::find() const {
  std::error_code why;
  for (fs::directory_iterator walk(m_entry, why), end; !why && walk != end; walk.increment(why)) {
    if (!walk->path().filename().string().starts_with("manifest-")) continue;
    if (auto run = read_manifest(walk->path())) return run;
  }
  return std::nullopt;
}

base::Status BuildCache::keep_log(model::BuildRun& run) const {
  const std::string text = log_text(run);
  if (text.empty()) return {};
  const fs::path path = m_entry / fmt::format("log-{}.txt", base::sha256(text).substr(0, 16));
  AKO_TRY_STATUS(base::write_file_atomic(path, text));
  run.log_path = path.string();
  return {};
}

base::Status BuildCache::keep(const fs::path& library, const Dependencies& dependencies,
                              model::BuildRun& run) const {
  AKO_TRY(const std::string bytes, base::read_file(library, 1u << 30));
  run.library_hash = base::sha256(bytes);
  run.cache_key = m_plan.key;
  const fs::path kept = m_entry / fmt::format("lib-{}.so", run.library_hash);
  AKO_TRY_STATUS(base::write_file_atomic(kept, bytes));
  chmod(kept.c_str(), 0555); // only against accidents: the hash is checked at every use
  run.library_path = kept.string();
  AKO_TRY_STATUS(keep_log(run));

  Json files = Json::array();
  std::error_code why;
  const fs::path task = fs::canonical(m_plan.task_dir, why);
  for (const auto& file : dependencies.in_task)
    files.push_back({{"path", fs::path(file.path).lexically_relative(task).generic_string()},
                     {"hash", file.hash}});
  Json manifest = {{"format", k_format},
                   {"library", run.library_hash},
                   {"in_task", files},
                   {"tools", dependencies.tools},
                   {"tools_state", state_of(dependencies.tools)},
                   {"steps", steps_to_json(run.steps)},
                   {"seconds", run.seconds},
                   {"log", run.log_path},
                   {"built_with", m_plan.tool_identity}};
  const std::string text = base::dump_json(manifest, 1);
  return base::write_file_atomic(
      m_entry / fmt::format("manifest-{}.json", base::sha256(text).substr(0, 16)), text);
}

} // namespace ako::executors
