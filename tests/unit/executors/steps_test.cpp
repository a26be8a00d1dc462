// Steps of a plan: at the same time where they may, in order where they must.
#include "executors/build.hpp"
#include "executors/runner.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

namespace ako::test {
namespace {

/// a and b make objects, link needs both; -MD files are not asked for.
model::BuildPlan three_steps(const base::fs::path& task) {
  model::BuildPlan plan;
  plan.label = "candidate";
  plan.key = std::string(64, 'a');
  plan.task_dir = task.string();
  plan.library = "lib.so";
  plan.environment = {"PATH=/usr/bin:/bin"};
  plan.steps = {{"a", {"a"}, {"a.cu"}, {"a.o"}},
                {"b", {"b"}, {"b.cu"}, {"b.o"}},
                {"link", {"link"}, {"a.o", "b.o"}, {"lib.so"}}};
  return plan;
}

struct Record {
  std::mutex mutex;
  std::vector<std::string> begun;
  std::atomic<int> running{0}, most{0};
};

executors::BuildOptions options(const base::fs::path& dir, Record& record,
                                const std::string& failing = "") {
  executors::BuildOptions out;
  out.cache_dir = dir / "cache";
  out.runner = [&record, failing](const base::CommandOptions& command) {
    const int now = ++record.running;
    int seen = record.most;
    while (now > seen && !record.most.compare_exchange_weak(seen, now)) {
    }
    {
      const std::lock_guard lock(record.mutex);
      record.begun.push_back(command.argv[0]);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (command.argv[0] == "link")
      (void)base::write_file_atomic(base::fs::path(command.cwd) / "lib.so", "bytes");
    base::CommandResult result;
    result.ending.exited = true;
    result.ending.code = command.argv[0] == failing ? 1 : 0;
    --record.running;
    return base::Expected<base::CommandResult>(result);
  };
  return out;
}

TEST(Steps, ThoseThatNeedNothingOfEachOtherRunTogetherAndTheLinkWaits) {
  const auto dir = base::TemporaryDir::make("ako-test-").value();
  Record record;
  const auto run = executors::run_build(three_steps(dir.path()), options(dir.path(), record));
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_FALSE(run->library_path.empty());
  EXPECT_EQ(record.begun.back(), "link");
  if (std::thread::hardware_concurrency() > 1) {
    EXPECT_EQ(record.most, 2);
  }
  ASSERT_EQ(run->steps.size(), 3u);
  EXPECT_EQ(run->steps[0].label, "a"); // in the plan's order, whichever ended first
  EXPECT_EQ(run->steps[1].label, "b");
}

TEST(Steps, AfterAFailureNothingNewBegins) {
  const auto dir = base::TemporaryDir::make("ako-test-").value();
  for (const char* failing : {"a", "b"}) {
    Record record;
    const auto run =
        executors::run_build(three_steps(dir.path()), options(dir.path(), record, failing));
    ASSERT_TRUE(run);
    EXPECT_TRUE(run->library_path.empty());
    for (const auto& name : record.begun) EXPECT_NE(name, "link");
  }
}

} // namespace
} // namespace ako::test
