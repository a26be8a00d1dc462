#include "bench_of_builds.hpp"

#include "executors/build.hpp"
#include "executors/runner.hpp"
#include "lanes/registry.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>

namespace ako::test {

model::Contract small_contract() {
  model::Contract contract;
  contract.kernel.name = "k";
  contract.kernel.entry = {"solution/k.cpp", "k"};
  contract.kernel.flags = {"-O1"};
  contract.kernel.args = {"x", "y", "N", "eps"};
  model::Axis n;
  n.name = "N";
  n.max = 65536;
  model::Axis open;
  open.name = "L";
  contract.axes = {n, open};
  model::Tensor x, y;
  x.name = "x";
  x.dtype = model::Dtype::float32;
  y = x;
  y.name = "y";
  y.role = model::TensorRole::out;
  contract.tensors = {x, y};
  model::Scalar eps;
  eps.name = "eps";
  contract.scalars = {eps};
  contract.reference.entry = {"input/ref.cpp", "ref"};
  contract.reference.precision = model::ErrorPrecision::float64;
  return contract;
}

BuildBench::BuildBench() : m_dir(base::TemporaryDir::make("ako-test-").value()) {
  fs::create_directories(task() / "solution");
  fs::create_directories(task() / "input");
  around = lanes::Surroundings::of_this_process(executors::local_runner(), root() / "memo");
  around.environment.erase("CXX");
}

void BuildBench::write(const std::string& path, const std::string& text) const {
  fs::create_directories((task() / path).parent_path());
  std::ofstream(task() / path, std::ios::binary) << text;
}

lanes::BuildResult BuildBench::build(const std::string& text) {
  write(contract.kernel.entry.file, text);
  return build();
}

lanes::BuildResult BuildBench::build() {
  const auto attempt = [&]() -> base::Expected<lanes::BuildResult> {
    lanes::BuildRequest request;
    request.contract = &contract;
    request.role = role;
    request.task_dir = task();
    request.device_architecture = device_architecture;
    const std::string folder = role == lanes::Role::reference ? "input" : "solution";
    AKO_TRY(const auto names, base::list_files(task() / folder));
    for (const auto& name : names) {
      AKO_TRY(std::string text, base::read_file(task() / folder / name));
      request.sources.texts.push_back({folder + "/" + name.generic_string(), text, false});
      request.sources.snapshot.hash += base::sha256(text);
    }
    AKO_TRY(const auto* driver, lanes::find_lane(lane));
    AKO_TRY(const auto tool, driver->find_tool(contract, around));
    AKO_TRY(const auto plan, driver->plan(request, tool, around));
    executors::BuildOptions options;
    options.cache_dir = cache();
    options.runner = around.runner;
    AKO_TRY(const auto run, executors::run_build(plan, options));
    return driver->read(request, plan, run);
  };
  auto result = attempt();
  if (result) return std::move(*result);
  lanes::BuildResult failed;
  failed.error = result.error();
  return failed;
}

Loaded::Loaded(const lanes::BuildResult& result) {
  if (!result.artifact) {
    ADD_FAILURE() << (result.error ? result.error->text() : "no artifact and no error");
    return;
  }
  // Not unloaded: the OpenMP runtime that comes with a library keeps its threads.
  m_handle = dlopen(result.artifact->library_path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (m_handle == nullptr) ADD_FAILURE() << dlerror();
}

Loaded::~Loaded() {
  if (m_handle != nullptr) dlclose(m_handle);
}

int Loaded::call(std::vector<void*> tensors, std::vector<std::int64_t> integers,
                 std::vector<double> scalars) const {
  using Call = int (*)(void* const*, const std::int64_t*, const double*, void*);
  if (m_handle == nullptr) return -9999;
  const auto function = reinterpret_cast<Call>(dlsym(m_handle, "ako_call"));
  if (function == nullptr) return -9998;
  return function(tensors.data(), integers.data(), scalars.data(), nullptr);
}

bool Loaded::has(const char* symbol) const {
  return m_handle != nullptr && dlsym(m_handle, symbol) != nullptr;
}

} // namespace ako::test
