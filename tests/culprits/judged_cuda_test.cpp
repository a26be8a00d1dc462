// Every file below cuda/ through the whole judge on the first visible device. Prints every outcome
// and the score; skips, and is counted as skipped, where no device is.
#include "judged_suite.hpp"

#include <atomic>
#include <future>
#include <thread>

namespace ako::culprits {
namespace {

const base::Expected<loop::Target>& device() {
  static const auto found = loop::find_target(model::Lane::cuda, std::nullopt);
  return found;
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
    if (device()) build_all();
  }
};

TEST_P(JudgedOnDevice, EndsAsItsFirstCommentSays) {
  if (!device()) GTEST_SKIP() << device().error().message;
  expect_as_its_comment_says(cuda_shelf(), GetParam(), *device(), Telling::every_one);
}

INSTANTIATE_TEST_SUITE_P(Cuda, JudgedOnDevice, testing::ValuesIn(all_culprits(cuda_shelf())),
                         case_name);

TEST(CudaCulprits, EveryTrickHasATwin) { expect_twins(cuda_shelf(), 40); }

} // namespace
} // namespace ako::culprits
