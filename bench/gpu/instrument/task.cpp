#include "instrument/task.hpp"

#include "base/json.hpp"
#include "client/keeper.hpp"
#include "model/contract_toml.hpp"

#include <cstdio>
#include <fmt/format.h>

namespace ako::bench {
namespace {

constexpr const char* k_contract = R"(format = 1
[kernel]
name = "rmsnorm"
lane = "cuda"
entry = {{ file = "solution/rmsnorm.cu", symbol = "rmsnorm" }}
architectures = ["sm_90a"]
args = ["x", "w", "y", "M", "H", "eps"]
deterministic = true
[axes]
M = {{ var = true, min = 1, max = 65536 }}
H = {{ const = 4096 }}
[[tensor]]
name = "x"
role = "in"
dtype = "bfloat16"
shape = ["M", "H"]
fill = {{ kind = "normal", mean = 0.1, stddev = 1.0 }}
[[tensor]]
name = "w"
role = "in"
dtype = "bfloat16"
shape = ["H"]
lifetime = "static"
fill = {{ kind = "uniform", low = 0.5, high = 1.5 }}
[[tensor]]
name = "y"
role = "out"
dtype = "bfloat16"
shape = ["M", "H"]
compare = "close"
[[scalar]]
name = "eps"
dtype = "float32"
value = 1e-5
{}
[reference]
entry = {{ file = "input/reference.cu", symbol = "reference" }}
precision = "float64"
[tolerance]
accumulate = "H"
[cost]
flops = "4*M*H"
bytes = "4*M*H"
[accept]
clock = "device"
cache = "{}"
min_gain = {}
)";

} // namespace

base::Expected<std::string> first_device() {
  AKO_TRY(const auto program, client::find_child_program());
  std::string text;
  std::FILE* pipe = popen(fmt::format("'{}' devices", program.string()).c_str(), "r");
  if (!pipe) return base::fail_errno("ako-child does not start", program.string(), errno);
  char buffer[4096];
  while (const auto got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  pclose(pipe);
  AKO_TRY(const auto json, base::parse_json(text, "devices"));
  AKO_TRY(const auto devices, base::get<base::Json>(json, "devices"));
  if (devices.empty())
    return base::fail(base::ErrorKind::unsupported, "no device here", {.found = text});
  return base::get<std::string>(devices[0], "uuid");
}

base::Expected<Task> make_task(const std::filesystem::path& libraries, const std::string& uuid,
                               const std::vector<int>& rows, const std::string& cache,
                               double min_gain) {
  Task task;
  task.libraries = libraries;
  task.uuid = uuid;
  std::string shapes;
  for (const int m : rows) shapes += fmt::format("[[shape]]\ntag = \"m{}\"\nM = {}\n", m, m);
  AKO_TRY(task.contract,
          model::parse_contract(fmt::format(fmt::runtime(k_contract), shapes, cache, min_gain),
                                "the bench's contract"));
  AKO_TRY(task.shapes, model::resolve_all(task.contract));
  return task;
}

model::LaunchSpec library(const Task& task, const std::string& name, const std::string& label) {
  model::LaunchSpec spec;
  spec.lane = model::Lane::cuda;
  spec.label = label;
  spec.library_path = (task.libraries / (name + ".so")).string();
  return spec;
}

evaluation::ChildStageOptions stage_options(const Task& task, const std::string& incumbent,
                                            const std::string& candidate) {
  evaluation::ChildStageOptions options;
  options.contract = &task.contract;
  options.task_dir = task.libraries;
  options.reference = library(task, "reference", "reference");
  options.incumbent = library(task, incumbent, "incumbent");
  options.candidate = library(task, candidate, "candidate");
  options.device = model::DeviceId{task.uuid};
  options.cache_dir = "/tmp/ako-bench-cache";
  return options;
}

base::Expected<std::unique_ptr<evaluation::Stage>>
make_stage(const Task& task, const std::string& incumbent, const std::string& candidate) {
  AKO_TRY(auto stage, evaluation::make_child_stage(stage_options(task, incumbent, candidate)));
  for (const auto side : {model::Side::reference, model::Side::incumbent, model::Side::candidate})
    if (auto loaded = stage->load(side); !loaded)
      return base::fail(base::ErrorKind::environment, "a worker does not load",
                        {.where = model::to_string(side),
                         .found = loaded.error().text + " " + loaded.error().err});
  return stage;
}

} // namespace ako::bench
