// Every file below cuda/ through the whole judge on the first visible device. Prints every outcome
// and the score; skips, and is counted as skipped, where no device is.
#include "judged_suite.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

namespace ako::culprits {
namespace {

const base::Expected<loop::Target>& device() {
  static const auto found = loop::find_target(model::Lane::cuda, std::nullopt);
  return found;
}

/// Where a run may take so long and no longer, the rest is skipped and counted as skipped.
bool time_is_up() {
  static const auto started = std::chrono::steady_clock::now();
  const char* most = std::getenv("AKO_CULPRITS_SECONDS");
  return most != nullptr &&
         std::chrono::steady_clock::now() - started > std::chrono::seconds(std::atoi(most));
}

/// nvcc takes longer than a verdict: all files are built first, on all processors.
void build_all() {
  const auto names = all_culprits(cuda_shelf());
  for (const auto& name : names) Bench::of(cuda_shelf(), task_of(name), *device());
  std::atomic<std::size_t> next{0};
  std::vector<std::future<void>> builders;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    builders.push_back(std::async(std::launch::async, [&] {
      for (std::size_t at = next++; at < names.size(); at = next++) {
        const auto culprit = read_culprit(path_of(cuda_shelf(), names[at]));
        auto& bench = Bench::of(cuda_shelf(), task_of(names[at]), *device());
        (void)bench.workshop().candidate(as_candidate(names[at], culprit));
      }
    }));
  for (auto& builder : builders) builder.get();
}

class JudgedOnDevice : public testing::TestWithParam<std::string> {
protected:
  static void SetUpTestSuite() {
    (void)time_is_up();
    if (device()) build_all();
  }
};

TEST_P(JudgedOnDevice, EndsAsItsFirstCommentSays) {
  if (!device()) GTEST_SKIP() << device().error().message;
  if (time_is_up()) GTEST_SKIP() << "no time left: $AKO_CULPRITS_SECONDS";
  expect_as_its_comment_says(cuda_shelf(), GetParam(), *device());
}

INSTANTIATE_TEST_SUITE_P(Cuda, JudgedOnDevice, testing::ValuesIn(all_culprits(cuda_shelf())),
                         case_name);

TEST(CudaCulprits, EveryTrickHasATwin) { expect_twins(cuda_shelf(), 40); }

} // namespace
} // namespace ako::culprits
