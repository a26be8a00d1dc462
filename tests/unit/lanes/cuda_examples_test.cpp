// The example tasks of the cuda and cutlass lanes, compiled as far as that goes without a device:
// every side and every iteration builds, spills nothing, and says the same in ptxas' words and in
// its image.
#include "cutlass_bench.hpp"

#include "executors/build.hpp"
#include "executors/runner.hpp"
#include "lanes/cutlass/headers.hpp"
#include "lanes/registry.hpp"
#include "model/contract_toml.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

namespace ako::test {
namespace {

struct Side {
  lanes::Role role = lanes::Role::candidate;
  std::string baseline;
  model::Lane lane = model::Lane::cuda;
  std::vector<model::SourceText> texts;
  std::string label;
};

class Example {
public:
  explicit Example(const std::string& name)
      : m_task(fs::path(AKO_SOURCE_DIR) / "examples" / name),
        m_cache(base::TemporaryDir::make("ako-test-").value()),
        m_around(lanes::Surroundings::of_this_process(executors::local_runner(), {})) {
    auto contract = model::load_contract(m_task);
    EXPECT_TRUE(contract) << contract.error().text();
    if (contract) m_contract = *contract;
  }

  const model::Contract& contract() const { return m_contract; }
  const fs::path& task() const { return m_task; }

  std::vector<std::string> iterations() const {
    std::vector<std::string> names;
    std::ifstream steps(m_task / "steps.txt");
    for (std::string line; std::getline(steps, line);) {
      EXPECT_NE(line.find('|'), std::string::npos) << line;
      names.push_back(line.substr(0, line.find('|')));
    }
    return names;
  }

  std::string read(const std::string& path) const {
    auto text = base::read_file(m_task / path);
    EXPECT_TRUE(text) << path;
    return text ? *text : std::string();
  }

  std::vector<Side> sides() const {
    const auto& kernel = m_contract.kernel;
    std::vector<Side> list;
    const auto one = [&](lanes::Role role, std::string baseline, model::Lane lane,
                         const std::string& file) {
      list.push_back({role, std::move(baseline), lane, {{file, read(file), false}}, file});
    };
    one(lanes::Role::reference, "", m_contract.reference.lane, m_contract.reference.entry.file);
    for (const auto& baseline : m_contract.baselines)
      if (!baseline.entry.file.ends_with(".py")) // those need their interpreter's packages
        one(lanes::Role::baseline, baseline.name, baseline.lane, baseline.entry.file);
    one(lanes::Role::candidate, "", kernel.lane, kernel.entry.file);
    for (const auto& name : iterations()) {
      const std::string file =
          "iterations/" + name + "/" + fs::path(kernel.entry.file).filename().string();
      list.push_back({lanes::Role::candidate,
                      "",
                      kernel.lane,
                      {{kernel.entry.file, read(file), false}},
                      file});
    }
    return list;
  }

  lanes::BuildResult build(const Side& side) const {
    const auto attempt = [&]() -> base::Expected<lanes::BuildResult> {
      lanes::BuildRequest request;
      request.contract = &m_contract;
      request.role = side.role;
      request.baseline = side.baseline;
      request.task_dir = m_task;
      request.sources.texts = side.texts;
      request.sources.snapshot.hash = base::sha256(side.texts[0].content);
      AKO_TRY(const auto* driver, lanes::find_lane(side.lane));
      AKO_TRY(const auto tool, driver->find_tool(m_contract, m_around));
      AKO_TRY(const auto plan, driver->plan(request, tool, m_around));
      executors::BuildOptions options;
      options.cache_dir = m_cache.path();
      options.runner = m_around.runner;
      AKO_TRY(const auto run, executors::run_build(plan, options));
      return driver->read(request, plan, run);
    };
    auto result = attempt();
    if (result) return std::move(*result);
    lanes::BuildResult failed;
    failed.error = result.error();
    return failed;
  }

  /// As many at a time as there are processors.
  std::vector<lanes::BuildResult> build_all(const std::vector<Side>& sides) const {
    std::vector<lanes::BuildResult> results(sides.size());
    std::atomic<std::size_t> next{0};
    std::vector<std::future<void>> workers;
    for (unsigned w = 0; w < std::max(1u, std::thread::hardware_concurrency()); ++w)
      workers.push_back(std::async(std::launch::async, [&] {
        for (std::size_t i = next++; i < sides.size(); i = next++) results[i] = build(sides[i]);
      }));
    for (auto& worker : workers) worker.get();
    return results;
  }

private:
  fs::path m_task;
  base::TemporaryDir m_cache;
  lanes::Surroundings m_around;
  model::Contract m_contract;
};

class CudaExamples : public testing::TestWithParam<const char*> {};

TEST_P(CudaExamples, EverySideAndIterationBuilds) {
  const Example example(GetParam());
  EXPECT_GE(example.iterations().size(), 3u);
  if (example.contract().kernel.lane == model::Lane::cutlass) AKO_NEEDS_CUTLASS();
  AKO_NEEDS_NVCC();
  const auto sides = example.sides();
  const auto results = example.build_all(sides);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const auto& side = sides[i];
    const auto& result = results[i];
    // A slim toolkit brings no libraries; the baseline that needs one is not compiled there.
    if (!result.artifact && result.error &&
        result.error->found.find("cublasLt.h") != std::string::npos)
      continue;
    ASSERT_TRUE(result.artifact) << side.label << ": "
                                 << (result.error ? result.error->text() : "");
    for (const auto& message : result.artifact->messages)
      ADD_FAILURE() << side.label << ": " << message.text;
    const auto& kernels = result.artifact->resources["kernels"];
    EXPECT_FALSE(kernels.empty()) << side.label;
    for (const auto& kernel : kernels) {
      if (side.role == lanes::Role::candidate) {
        EXPECT_EQ(kernel["spill_store_bytes"], 0) << side.label << " " << kernel["name"];
      }
      EXPECT_EQ(kernel["image"]["agrees"], true) << side.label << " " << kernel.dump();
    }
  }
}

TEST_P(CudaExamples, TheMicrobenchCompilesByItsOwnFirstLine) {
  const Example example(GetParam());
  const auto lane = example.contract().kernel.lane;
  const auto text = lanes::find_lane(lane).value()->microbench(example.contract());
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(text->path, "bench/bench_" + example.contract().kernel.name + ".cu");
  if (lane == model::Lane::cutlass) AKO_NEEDS_CUTLASS();
  AKO_NEEDS_NVCC();
  std::string path = "PATH=$PATH:/usr/local/cuda/bin";
  const auto around = lanes::Surroundings::of_this_process(executors::local_runner(), {});
  if (const auto headers = lanes::cutlass::find_headers(around))
    path += " CUTLASS_PATH=" + headers->include.parent_path().string();
  const auto dir = base::TemporaryDir::make("ako-test-").value();
  fs::create_directories(dir.path() / "bench");
  fs::create_directories(dir.path() / "solution");
  std::ofstream(dir.path() / text->path) << text->content;
  std::ofstream(dir.path() / example.contract().kernel.entry.file)
      << example.read(example.contract().kernel.entry.file);
  base::CommandOptions options;
  options.argv = {"/bin/sh", "-c",
                  path + "; " + text->content.substr(3, text->content.find('\n') - 3)};
  options.cwd = dir.path().string();
  const auto result = base::run_command(options);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->ok()) << options.argv[2] << "\n" << result->err << result->out;
  EXPECT_TRUE(fs::exists(dir.path() / "bench" / ("bench_" + example.contract().kernel.name)));
}

INSTANTIATE_TEST_SUITE_P(All, CudaExamples,
                         testing::Values("cuda/rmsnorm_residual_bf16", "cuda/softmax_rows",
                                         "cuda/row_sum_f32", "cuda/gemm_bias_silu_bf16",
                                         "cuda/scaled_mm_int8", "cutlass/gemm_bias_silu_bf16",
                                         "cutlass/grouped_gemm_moe_bf16",
                                         "cutlass/gemm_fp8_blocks"),
                         [](const auto& given) {
                           std::string name = given.param;
                           name[name.find('/')] = '_';
                           return name;
                         });

TEST(CudaExamplesFolder, HoldsNoTaskThatIsNotTested) {
  std::size_t folders = 0;
  for (const char* lane : {"cuda", "cutlass"})
    for (const auto& entry : fs::directory_iterator(fs::path(AKO_SOURCE_DIR) / "examples" / lane))
      folders += entry.is_directory();
  EXPECT_EQ(folders, 8u);
}

} // namespace
} // namespace ako::test
