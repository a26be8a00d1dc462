#include "fakes/kernel_bench.hpp"

#include "base/process.hpp"

#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace ako::fakes {
namespace {

template <class T> T must(base::Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().text());
  return std::move(*value);
}

void must(base::Status status) {
  if (!status) throw std::runtime_error(status.error().text());
}

model::Tensor float_tensor(const std::string& name, model::TensorRole role) {
  model::Tensor tensor;
  tensor.name = name;
  tensor.role = role;
  tensor.dtype = model::Dtype::float32;
  tensor.shape = {must(model::Expression::parse("N"))};
  return tensor;
}

} // namespace

std::filesystem::path build_library(const std::filesystem::path& folder, const std::string& name,
                                    const std::string& source) {
  const auto file = folder / (name + ".cpp"), library = folder / (name + ".so");
  std::ofstream(file) << source;
  base::CommandOptions command;
  command.argv = {"g++", "-std=c++17",     "-O1",        "-fPIC", "-shared", "-pthread",
                  "-o",  library.string(), file.string()};
  if (source.find("#pragma omp") != std::string::npos) command.argv.emplace_back("-fopenmp");
  command.deadline = base::Deadline::after_seconds(100);
  const auto built = must(base::run_command(command));
  if (!built.ok()) throw std::runtime_error(built.err);
  return library;
}

model::Contract axpb_contract() {
  model::Contract contract;
  contract.kernel.name = "axpb";
  model::Axis axis;
  axis.name = "N";
  contract.axes = {axis};
  contract.tensors = {float_tensor("x", model::TensorRole::in),
                      float_tensor("y", model::TensorRole::out),
                      float_tensor("t", model::TensorRole::in)};
  contract.tensors[2].lifetime = model::Lifetime::static_;
  model::Scalar scalar;
  scalar.name = "s";
  scalar.value = 2.5;
  contract.scalars = {scalar};
  return contract;
}

model::ResolvedShape axpb_shape(const model::Contract& contract, std::int64_t n) {
  model::ShapeCase shape;
  shape.tag = fmt::format("n{}", n);
  shape.axes["N"] = n;
  return must(model::resolve(contract, shape));
}

std::string axpb_source(const std::string& before, const std::string& globals) {
  return R"(#include <cstdint>
)" + globals +
         R"(
extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  const float* x = static_cast<const float*>(tensors[0]);
  float* y = static_cast<float*>(tensors[1]);
  const int64_t n = integers[0];
)" + before +
         R"(
  for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;
  return 0;
}
)";
}

Bench Bench::make(std::int64_t n, int sets, std::int64_t evict_bytes,
                  std::optional<model::DeviceId> device, model::Contract contract,
                  std::uint64_t placement) {
  client::KeeperOptions options;
  options.evict_bytes = evict_bytes;
  options.device = device;
  auto shape = axpb_shape(contract, n);
  Bench bench{must(base::TemporaryDir::make("ako-test-")),
              std::move(contract),
              std::move(shape),
              must(client::Keeper::start(options)),
              device,
              std::nullopt};
  auto plan = must(model::plan_arena(bench.contract, bench.shape, sets, 0, placement));
  bench.arena =
      must(bench.keeper.create_arena(bench.contract, bench.shape, std::move(plan), "test"));
  must(bench.keeper.fill(*bench.arena, bench.fill_job()));
  must(bench.keeper.poison(*bench.arena, inputs::Sentinel::first));
  return bench;
}

client::FillJob Bench::fill_job(std::uint32_t epoch) const {
  client::FillJob job;
  job.contract = &contract;
  job.shape = &shape;
  job.seed = 0xfeed'beef'0000'0001u;
  job.epoch = epoch;
  return job;
}

client::WorkerOptions Bench::options(const std::string& source) const {
  static int number = 0;
  client::WorkerOptions options;
  options.spec.label = "candidate";
  options.spec.library_path =
      build_library(folder.path(), fmt::format("k{}", number++), source).string();
  options.spec.library_hash = must(base::sha256_file(options.spec.library_path));
  options.limits.call_seconds = 10;
  options.device = device;
  return options;
}

client::Answer<client::Worker> Bench::worker(const std::string& source) const {
  return prepare(options(source));
}

client::Answer<client::Worker> Bench::prepare(client::WorkerOptions options) const {
  auto worker = client::Worker::start(std::move(options));
  if (!worker) return worker;
  if (keeper.evict_fd() >= 0)
    if (auto shared = worker->share_eviction(keeper); !shared)
      return tl::unexpected(shared.error());
  if (auto loaded = worker->load(); !loaded) return tl::unexpected(loaded.error());
  if (auto mapped = worker->map(*arena); !mapped) return tl::unexpected(mapped.error());
  const auto binding = must(client::bind(contract, shape, *arena));
  if (auto bound = worker->use(binding); !bound) return tl::unexpected(bound.error());
  return worker;
}

std::int64_t Bench::wrong_elements(int set) const {
  const auto x = arena->bytes(0, set), y = arena->bytes(1, set);
  std::int64_t wrong = 0;
  for (std::size_t at = 0; at < x.size(); at += sizeof(float)) {
    float in = 0, out = 0;
    std::memcpy(&in, x.data() + at, sizeof in);
    std::memcpy(&out, y.data() + at, sizeof out);
    wrong += !(out == 2 * in + 1);
  }
  return wrong;
}

} // namespace ako::fakes
