#include "python_bench.hpp"

#include "executors/build.hpp"
#include "executors/runner.hpp"
#include "lanes/registry.hpp"

#include <stdexcept>

namespace ako::fakes {
namespace {

template <class T> T must_have(base::Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().text());
  return std::move(*value);
}

lanes::BuildRequest request_of(PythonBench& bench, const std::string& text) {
  lanes::BuildRequest request;
  request.contract = &bench.bench.contract;
  request.role = bench.role;
  request.task_dir = bench.task.path();
  request.sources.texts = {{"solution/k.py", text, false}};
  request.sources.snapshot.hash = base::sha256(text);
  return request;
}

} // namespace

std::string axpb_python(const std::string& in_call, const std::string& top,
                        const std::string& after) {
  return top + R"(
def run(x, y, t, s, n):
    )" + in_call +
         R"(
    a, b = x.memoryview(), y.memoryview()
    for i in range(n):
        b[i] = 2 * a[i] + 1
    )" + after +
         "\n";
}

std::string axpb_triton(const std::string& in_call, const std::string& top,
                        const std::string& launch) {
  return R"(
import torch
import triton
import triton.language as tl
)" + top +
         R"(

@triton.jit
def axpb(x, y, n: tl.constexpr):
    for i in range(n):
        y[i] = 2 * x[i] + 1


def run(x, y, t, s, n):
    )" + in_call +
         "\n    " + launch + "\n";
}

PythonBench PythonBench::make(std::int64_t n, int sets, Torch torch,
                              std::optional<model::DeviceId> device) {
  PythonBench out{Bench::make(n, sets, device ? 0 : -1, device),
                  must_have(base::TemporaryDir::make("ako-task-")),
                  lanes::Role::candidate,
                  {},
                  30,
                  10,
                  lanes::Surroundings::of_this_process(executors::local_runner(), {})};
  out.bench.contract.kernel.lane = model::Lane::triton;
  out.bench.contract.kernel.entry = out.bench.contract.reference.entry = {"solution/k.py", "run"};
  out.bench.contract.reference.lane = model::Lane::triton;
  for (const char* name : {"PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX"})
    out.around.environment.erase(name);
  if (torch == Torch::fake)
    out.around.environment["PYTHONPATH"] = AKO_SOURCE_DIR "/tests/fakes/python";
  return out;
}

lanes::BuildResult PythonBench::build(const std::string& text) {
  const auto request = request_of(*this, text);
  const auto* driver = must_have(lanes::find_lane(model::Lane::triton));
  const auto tool = must_have(driver->find_tool(bench.contract, around));
  const auto plan = must_have(driver->plan(request, tool, around));
  executors::BuildOptions options;
  options.cache_dir = task.path() / "cache";
  options.runner = around.runner;
  return driver->read(request, plan, must_have(executors::run_build(plan, options)));
}

client::WorkerOptions PythonBench::options(const std::string& text) {
  const auto built = build(text);
  if (!built.artifact)
    throw std::runtime_error(built.error ? built.error->text() : "nothing was built");
  const auto* driver = must_have(lanes::find_lane(model::Lane::triton));
  client::WorkerOptions options;
  options.spec = driver->launch_spec(request_of(*this, text), *built.artifact);
  const auto& imports = options.spec.environment["AKO_IMPORTS"];
  if (imports.find("triton") != std::string::npos) {
    options.spec.keep_dir = (task.path() / "kept").string();
    options.spec.environment["TRITON_CACHE_DIR"] = options.spec.keep_dir;
  }
  for (const auto& [name, value] : environment) options.spec.environment[name] = value;
  options.limits.call_seconds = call_seconds;
  options.limits.load_seconds = load_seconds;
  options.limits.build_seconds = 5;
  options.device = bench.device;
  return options;
}

client::Answer<client::Worker> PythonBench::worker(const std::string& text) {
  return bench.prepare(options(text));
}

client::Answer<client::LoadReport> PythonBench::load(const std::string& text) {
  auto worker = client::Worker::start(options(text));
  if (!worker) return tl::unexpected(worker.error());
  return worker->load();
}

} // namespace ako::fakes
