// Runs every file below cpu/ as a candidate and compares what was noticed with its first comment.
#include "fakes/kernel_bench.hpp"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace ako {
namespace {

namespace fs = std::filesystem;
using Noticed = std::set<std::string>;

constexpr std::int64_t k_stray_ns = 20'000'000;

struct Culprit {
  std::string name, expects, source;
};

Culprit read_culprit(const fs::path& path) {
  Culprit culprit;
  culprit.name = path.stem().string();
  std::ifstream file(path);
  std::string first;
  std::getline(file, first);
  constexpr std::string_view k_mark = "expects: ";
  const auto at = first.find(k_mark);
  if (at != std::string::npos) culprit.expects = first.substr(at + k_mark.size());
  culprit.source.assign(std::istreambuf_iterator<char>(file), {});
  return culprit;
}

fs::path folder() { return fs::path(AKO_SOURCE_DIR) / "tests/culprits/cpu"; }

std::vector<std::string> all_culprits() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder()))
    if (entry.path().extension() == ".cpp") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

void add_check(const client::CheckReport& report, Noticed& noticed) {
  for (const auto& buffer : report.buffers) {
    if (buffer.unwritten > 0) noticed.insert("unwritten");
    if (buffer.red_before + buffer.red_after > 0) noticed.insert("red_zone");
    if (buffer.input_changed) noticed.insert("input_changed");
  }
}

/// Load, two calls on two sets, a look at the buffers, a while of idleness.
Noticed watch(fakes::Bench& bench, client::WorkerOptions options) {
  Noticed noticed;
  const auto failed = [&](const client::WorkerFailure& failure) {
    noticed.insert(client::to_string(failure.kind));
    return noticed;
  };
  auto worker = client::Worker::start(std::move(options));
  if (!worker) return failed(worker.error());
  const auto loaded = worker->load();
  if (!loaded) return failed(loaded.error());
  if (!loaded->interposed.empty()) noticed.insert("interposed");
  if (!loaded->changed.empty()) noticed.insert("changed");
  const auto binding = client::bind(bench.contract, bench.shape, *bench.arena);
  if (auto mapped = worker->map(*bench.arena); !mapped) return failed(mapped.error());
  if (auto bound = worker->use(*binding); !bound) return failed(bound.error());
  for (const int set : {0, 1}) {
    const auto called = worker->call(set);
    if (!called) return failed(called.error());
    if (!called->changed.empty()) noticed.insert("changed");
    const auto report = bench.keeper.check(*bench.arena, {set});
    if (report) add_check(*report, noticed);
    if (noticed.empty() && bench.wrong_elements(set) > 0) noticed.insert("wrong");
  }
  timespec nap{0, 60'000'000};
  nanosleep(&nap, nullptr);
  if (worker->idle_cpu_ns() + worker->idle_wait_ns() > k_stray_ns) noticed.insert("stray_work");
  if (auto again = worker->call(0); !again) return failed(again.error());
  if (noticed.empty()) noticed.insert("clean");
  return noticed;
}

std::string joined(const Noticed& noticed) {
  std::string text;
  for (const auto& word : noticed) text += (text.empty() ? "" : " ") + word;
  return text;
}

class Contained : public testing::TestWithParam<std::string> {
protected:
  static void SetUpTestSuite() { s_bench = new fakes::Bench(fakes::Bench::make(300, 3)); }
  static void TearDownTestSuite() { delete s_bench; }
  static fakes::Bench* s_bench;
};
fakes::Bench* Contained::s_bench = nullptr;

TEST_P(Contained, EndsItselfOnly) {
  const auto culprit = read_culprit(folder() / (GetParam() + ".cpp"));
  ASSERT_FALSE(culprit.expects.empty()) << "the first comment says what is expected";
  auto& bench = *s_bench;
  ASSERT_TRUE(bench.keeper.fill(*bench.arena, bench.fill_job(1)));
  ASSERT_TRUE(bench.keeper.poison(*bench.arena, inputs::Sentinel::first));
  auto options = bench.options(culprit.source);
  options.limits.call_seconds = culprit.expects == "hung" ? 1 : 20;
  const auto noticed = watch(bench, std::move(options));
  const bool as_expected = culprit.expects == "any" || noticed.contains(culprit.expects);
  EXPECT_TRUE(as_expected) << "expected " << culprit.expects << ", noticed " << joined(noticed);

  // Nobody else is harmed: the keeper answers, and an honest kernel runs in a fresh worker.
  ASSERT_TRUE(bench.keeper.fill(*bench.arena, bench.fill_job(2)));
  ASSERT_TRUE(bench.keeper.poison(*bench.arena, inputs::Sentinel::first));
  static const auto honest = bench.options(fakes::axpb_source());
  EXPECT_EQ(joined(watch(bench, honest)), "clean");
}

INSTANTIATE_TEST_SUITE_P(Cpu, Contained, testing::ValuesIn(all_culprits()),
                         [](const testing::TestParamInfo<std::string>& given) {
                           auto name = given.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(Culprits, EveryTrickHasATwin) {
  const auto names = all_culprits();
  for (const auto& name : names) {
    if (name.ends_with(".honest")) continue;
    if (read_culprit(folder() / (name + ".cpp")).expects == "clean") continue;
    EXPECT_TRUE(fs::exists(folder() / (name + ".honest.cpp"))) << name;
  }
  EXPECT_GE(names.size(), 60u);
}

} // namespace
} // namespace ako
