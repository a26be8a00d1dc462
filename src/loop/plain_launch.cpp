#include "loop/plain_launch.hpp"

#include "client/keeper.hpp"
#include "loop/setup.hpp"
#include "model/resolved.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::loop {
namespace {

constexpr const char* k_mirrored_tag = "as-judged";
constexpr std::uint64_t k_most_copied = 256u << 20;

base::Expected<base::fs::path> find_launcher() {
  AKO_TRY(base::fs::path child, client::find_child_program());
  const base::fs::path launcher = child.parent_path() / "ako-launch";
  std::error_code ignored;
  if (base::fs::exists(launcher, ignored)) return launcher;
  return base::fail(base::ErrorKind::environment, "ako-launch is missing",
                    {.where = child.parent_path().string(),
                     .found = {},
                     .allowed = "beside ako-child",
                     .next = "install ako again"});
}

/// Shapes that the judge makes up beside the contract's.
std::optional<model::ShapeCase> made_up(const model::Contract& contract,
                                        const LaunchRequest& request) {
  std::vector<model::ShapeCase> all = judged_edges(contract);
  for (auto& shape : judged_hidden(contract, request.hidden_seed)) all.push_back(std::move(shape));
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const auto& shape) { return shape.tag == request.shape; });
  return at == all.end() ? std::nullopt : std::optional(std::move(*at));
}

/// What the contract names of the task's files, linked or copied: they must lie inside the task.
base::Status mirror(const base::fs::path& task, const base::fs::path& into) {
  AKO_TRY(const auto files, base::list_files(task));
  std::uint64_t copied = 0;
  for (const auto& file : files) {
    const std::string first = file.begin()->string();
    if (first.starts_with('.') || first == "bench" || first == "context" || file == "task.toml")
      continue;
    AKO_TRY_STATUS(base::make_dirs((into / file).parent_path()));
    std::error_code why;
    base::fs::create_hard_link(task / file, into / file, why);
    if (!why) continue;
    copied += base::fs::file_size(task / file, why);
    if (copied > k_most_copied)
      return base::fail(base::ErrorKind::unsupported,
                        "the task is too large to be laid out again beside itself",
                        {.where = task.string(),
                         .found = file.string(),
                         .allowed = "256 MiB, or a temporary folder on the same file system",
                         .next = "set TMPDIR to a folder of the same file system"});
    base::fs::copy_file(task / file, into / file, why);
    if (why) return base::fail_errno("a file was not copied", file.string(), why.value());
  }
  return {};
}

/// The task as it is with the judge's own shape among the contract's.
base::Status lay_out(const Session& session, const model::ShapeCase& shape,
                     const base::fs::path& into) {
  const base::fs::path task = session.workdir().task();
  AKO_TRY_STATUS(mirror(task, into));
  AKO_TRY(const std::string toml, base::read_file(task / "task.toml"));
  return base::write_file_atomic(into / "task.toml", with_shape(toml, shape, k_mirrored_tag));
}

} // namespace

std::string with_shape(const std::string& toml, const model::ShapeCase& shape,
                       const std::string& tag) {
  std::string values;
  const auto add = [&](const std::string& name, const std::string& value) {
    values += fmt::format("{}\"{}\" = {}", values.empty() ? "" : ", ", name, value);
  };
  for (const auto& [name, value] : shape.axes) add(name, std::to_string(value));
  for (const auto& [name, dtype] : shape.dtypes)
    add(name, fmt::format("\"{}\"", model::to_string(dtype)));
  return fmt::format("{}\n[[shape]]\ntag = \"{}\"\naxes = {{ {} }}\n", toml, tag, values);
}

base::Status can_be_launched(const Built& built, const model::Contract& contract) {
  if (built.spec.host.empty()) return {};
  return base::fail(
      base::ErrorKind::unsupported, "a Python side is not launched on its own",
      {.where = built.label,
       .found = built.artifact.compile_line,
       .allowed = "a side that is a library, or a command of yours",
       .next = fmt::format("ako profile -- python3 bench/bench_{}.py", contract.kernel.name)});
}

base::Expected<PlainLaunch> PlainLaunch::of(const Session& session, const Built& built,
                                            const LaunchRequest& request) {
  AKO_TRY_STATUS(can_be_launched(built, session.contract()));
  AKO_TRY(base::TemporaryDir folder, base::TemporaryDir::make("ako-launch"));
  PlainLaunch out(std::move(folder));
  AKO_TRY(out.m_launcher, find_launcher());
  base::fs::path task = session.workdir().task();
  std::string tag = request.shape;
  const auto& shapes = session.contract().shapes;
  if (std::none_of(shapes.begin(), shapes.end(), [&](const auto& s) { return s.tag == tag; })) {
    const auto shape = made_up(session.contract(), request);
    if (!shape)
      return base::fail(base::ErrorKind::invalid, "no such shape",
                        {.where = "a plain launch",
                         .found = tag,
                         .allowed = "a shape of the contract, an edge or a hidden one",
                         .next = {}});
    task = out.m_folder.path() / "task";
    AKO_TRY_STATUS(lay_out(session, *shape, task));
    tag = k_mirrored_tag;
  }
  const std::string device = !needs_device(session.contract().kernel.lane) ? "host"
                             : request.device.empty()                      ? "cuda"
                                                      : "cuda:" + request.device;
  const base::Json job = {{"task", task.string()},
                          {"library", built.spec.library_path},
                          {"shape", tag},
                          {"device", device},
                          {"seed", request.seed},
                          {"warmup", request.warmup},
                          {"calls", request.calls},
                          {"prepare", built.spec.has_prepare},
                          {"plan", built.spec.has_plan}};
  AKO_TRY_STATUS(
      base::write_file_atomic(out.m_folder.path() / "job.json", base::dump_json(job, 1)));
  return out;
}

} // namespace ako::loop
