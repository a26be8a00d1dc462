#include "launch/job.hpp"

#include "ako/measure.h"
#include "base/fs.hpp"
#include "base/hash.hpp"
#include "inputs/recipe.hpp"
#include "model/contract_toml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace ako::launch {

using base::ErrorKind;
using base::Expected;
using base::fail;

Expected<Job> read_job(const std::filesystem::path& path) {
  AKO_TRY(std::string text, base::read_file(path, 1 << 20));
  AKO_TRY(base::Json json, base::parse_json(text, path.string()));
  Job job;
  AKO_TRY(std::string task, base::get<std::string>(json, "task"));
  job.task = task;
  AKO_TRY(job.library, base::get<std::string>(json, "library"));
  AKO_TRY(job.shape, base::get<std::string>(json, "shape"));
  job.device = base::get_or<std::string>(json, "device", job.device);
  job.seed = base::get_or<std::uint64_t>(json, "seed", job.seed);
  job.warmup = base::get_or<std::int64_t>(json, "warmup", job.warmup);
  job.calls = base::get_or<std::int64_t>(json, "calls", job.calls);
  job.prepare = base::get_or<bool>(json, "prepare", false);
  job.plan = base::get_or<bool>(json, "plan", false);
  if (job.warmup < 0 || job.warmup > 10000 || job.calls < 1 || job.calls > 10000)
    return fail(ErrorKind::invalid, "too many calls, or none",
                {.where = path.string(),
                 .found = fmt::format("{} and {}", job.warmup, job.calls),
                 .allowed = "warmup 0 to 10000, calls 1 to 10000",
                 .next = {}});
  return job;
}

namespace {

Expected<model::ResolvedShape> shape_of(const model::Contract& contract, const std::string& tag) {
  AKO_TRY(auto shapes, model::resolve_all(contract));
  std::string tags;
  for (auto& shape : shapes) {
    if (shape.tag == tag) return std::move(shape);
    tags += (tags.empty() ? "" : ", ") + shape.tag;
  }
  return fail(ErrorKind::invalid, "the contract has no such shape",
              {.where = "shape", .found = tag, .allowed = tags, .next = {}});
}

Expected<std::vector<std::byte>> content(const Job& job, const model::Tensor& declared,
                                         const model::ResolvedTensor& tensor, std::uint32_t place) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
  if (tensor.role != model::TensorRole::in && tensor.role != model::TensorRole::inout) return bytes;
  if (declared.fill.kind == model::Fill::custom)
    return fail(ErrorKind::unsupported, "a custom fill is not run for a profile",
                {.where = declared.name,
                 .found = declared.fill.file,
                 .allowed = "recorded and generated fills",
                 .next = "profile a command of your own: ako profile -- COMMAND"});
  inputs::FillSources sources;
  std::string recorded;
  if (declared.fill.kind == model::Fill::recorded) {
    AKO_TRY(recorded, base::read_file(job.task / declared.fill.file, std::uint64_t(1) << 36));
    sources.recorded = std::as_bytes(std::span(recorded));
    sources.recorded_name = declared.fill.file;
  }
  AKO_TRY_STATUS(inputs::fill(bytes, tensor, declared.fill, inputs::Recipe::plain,
                              inputs::StreamId{job.seed, place, 0, 0}, sources));
  return bytes;
}

Expected<std::vector<std::int64_t>> integers_of(const model::Contract& contract,
                                                const model::ResolvedShape& shape) {
  std::vector<std::int64_t> all;
  for (const auto& axis : contract.axes) {
    if (axis.kind == model::Axis::Kind::dtype)
      all.push_back(std::int64_t(shape.dtypes.at(axis.name)));
    else all.push_back(shape.axes.at(axis.name));
  }
  return all;
}

struct Entry {
  ako_call_fn call = nullptr, prepare = nullptr, plan = nullptr;
};

Expected<Entry> load(const Job& job) {
  void* library = dlopen(job.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return fail(ErrorKind::invalid, "the kernel's library cannot be loaded",
                {.where = job.library, .found = dlerror(), .allowed = {}, .next = {}});
  auto find = [&](const char* name) { return reinterpret_cast<ako_call_fn>(dlsym(library, name)); };
  Entry entry{find("ako_call"), job.prepare ? find("ako_prepare") : nullptr,
              job.plan ? find("ako_plan") : nullptr};
  if (!entry.call || (job.prepare && !entry.prepare) || (job.plan && !entry.plan))
    return fail(ErrorKind::invalid, "the kernel's library lacks an entry",
                {.where = job.library,
                 .found = {},
                 .allowed = "ako_call, and ako_prepare and ako_plan where they are asked for",
                 .next = {}});
  return entry;
}

/// All that one call is given.
struct Call {
  std::vector<void*> tensors;
  std::vector<std::int64_t> integers;
  std::vector<double> scalars;

  base::Status make(ako_call_fn function, const char* name, Memory& memory) const {
    const int code = function(tensors.data(), integers.data(), scalars.data(), memory.stream());
    if (code != 0)
      return fail(ErrorKind::invalid, "the kernel returned an error",
                  {.where = name, .found = std::to_string(code), .allowed = "0", .next = {}});
    return memory.wait();
  }
};

} // namespace

Expected<std::vector<TensorSum>> run(const Job& job) {
  AKO_TRY(model::Contract contract, model::load_contract(job.task));
  AKO_TRY(model::ResolvedShape shape, shape_of(contract, job.shape));
  AKO_TRY(std::unique_ptr<Memory> memory, open_memory(job.device));
  AKO_TRY(Entry entry, load(job));
  Call call;
  AKO_TRY(call.integers, integers_of(contract, shape));
  call.scalars = shape.scalars;
  for (std::size_t i = 0; i < shape.tensors.size(); ++i) {
    const model::ResolvedTensor& tensor = shape.tensors[i];
    AKO_TRY(void* at, memory->allocate(static_cast<std::size_t>(tensor.bytes)));
    AKO_TRY(auto bytes, content(job, contract.tensors[i], tensor, static_cast<std::uint32_t>(i)));
    AKO_TRY_STATUS(memory->upload(at, bytes));
    call.tensors.push_back(at);
  }
  if (entry.prepare) AKO_TRY_STATUS(call.make(entry.prepare, "ako_prepare", *memory));
  if (entry.plan) AKO_TRY_STATUS(call.make(entry.plan, "ako_plan", *memory));
  for (std::int64_t i = 0; i < job.warmup; ++i)
    AKO_TRY_STATUS(call.make(entry.call, "ako_call", *memory));
  memory->mark_start();
  for (std::int64_t i = 0; i < job.calls; ++i)
    AKO_TRY_STATUS(call.make(entry.call, "ako_call", *memory));
  memory->mark_stop();
  std::vector<TensorSum> sums;
  for (std::size_t i = 0; i < shape.tensors.size(); ++i) {
    AKO_TRY(auto bytes,
            memory->download(call.tensors[i], static_cast<std::size_t>(shape.tensors[i].bytes)));
    sums.push_back({shape.tensors[i].name, base::checksum(bytes)});
  }
  return sums;
}

} // namespace ako::launch
