// The example tasks of the triton and cute-dsl lanes, as far as that goes without their packages:
// every contract reads, every side and every iteration bundles, each under the hypothesis that
// steps.txt has for it.
#include "executors/build.hpp"
#include "executors/runner.hpp"
#include "lanes/registry.hpp"
#include "model/contract_toml.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako {
namespace {

namespace fs = std::filesystem;
const fs::path k_examples = fs::path(AKO_SOURCE_DIR) / "examples";

std::vector<std::string> tasks() {
  std::vector<std::string> names;
  for (const std::string lane : {"triton", "cute-dsl"})
    for (const auto& entry : fs::directory_iterator(k_examples / lane))
      names.push_back(lane + "/" + entry.path().filename().string());
  return names;
}

class Example : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    m_task = k_examples / GetParam();
    auto contract = model::load_contract(m_task);
    ASSERT_TRUE(contract) << contract.error().text();
    m_contract = *contract;
    // Stand-ins: bundling asks whether there is a torch, not what it can.
    m_around.environment["PYTHONPATH"] = AKO_SOURCE_DIR "/tests/fakes/python";
  }

  /// The bundle of `file`, which stands in the place of `entry`; the error's words otherwise.
  std::string bundled(lanes::Role role, const std::string& entry, const fs::path& file,
                      const std::string& baseline = "") {
    auto text = base::read_file(file);
    if (!text) return text.error().text();
    lanes::BuildRequest request;
    request.contract = &m_contract;
    request.role = role;
    request.baseline = baseline;
    request.task_dir = m_task;
    request.sources.texts = {{entry, *text, false}};
    request.sources.snapshot.hash = base::sha256(*text);
    const auto* driver = *lanes::find_lane(m_contract.kernel.lane);
    const auto tool = driver->find_tool(m_contract, m_around);
    if (!tool) return tool.error().text();
    const auto plan = driver->plan(request, *tool, m_around);
    if (!plan) return plan.error().text();
    executors::BuildOptions options;
    options.cache_dir = m_cache.path();
    options.runner = m_around.runner;
    const auto run = executors::run_build(*plan, options);
    if (!run) return run.error().text();
    const auto result = driver->read(request, *plan, *run);
    if (!result.artifact) return result.error->text();
    return result.messages.empty() ? "built" : result.messages[0].text;
  }

  fs::path m_task;
  model::Contract m_contract;
  base::TemporaryDir m_cache = std::move(*base::TemporaryDir::make("ako-test-"));
  lanes::Surroundings m_around =
      lanes::Surroundings::of_this_process(executors::local_runner(), {});
};

TEST_P(Example, EverySideAndIterationBundles) {
  const auto& kernel = m_contract.kernel;
  EXPECT_EQ(model::to_string(kernel.lane), GetParam().substr(0, GetParam().find('/')));
  EXPECT_EQ(m_contract.reference.precision, model::ErrorPrecision::float64);
  EXPECT_EQ(bundled(lanes::Role::candidate, kernel.entry.file, m_task / kernel.entry.file),
            "built");
  EXPECT_EQ(bundled(lanes::Role::reference, m_contract.reference.entry.file,
                    m_task / m_contract.reference.entry.file),
            "built");
  ASSERT_FALSE(m_contract.baselines.empty());
  for (const auto& baseline : m_contract.baselines)
    EXPECT_EQ(bundled(lanes::Role::baseline, baseline.entry.file, m_task / baseline.entry.file,
                      baseline.name),
              "built");
  const auto name = fs::path(kernel.entry.file).filename();
  std::ifstream steps(m_task / "steps.txt");
  int count = 0;
  for (std::string line; std::getline(steps, line); ++count) {
    ASSERT_NE(line.find('|'), std::string::npos) << line;
    const auto folder = line.substr(0, line.find('|'));
    EXPECT_EQ(
        bundled(lanes::Role::candidate, kernel.entry.file, m_task / "iterations" / folder / name),
        "built")
        << folder;
  }
  EXPECT_GE(count, 3);
}

INSTANTIATE_TEST_SUITE_P(All, Example, testing::ValuesIn(tasks()), [](const auto& given) {
  std::string name = given.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
});

} // namespace
} // namespace ako
