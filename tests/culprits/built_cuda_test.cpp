// Every file below cuda/ built by the lane, as far as that goes without a device: a culprit that
// does not compile would be caught by the compiler and by nothing else.
#include "judged_suite.hpp"
#include "unit/lanes/cuda_bench.hpp"

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

namespace ako::culprits {
namespace {

struct Work {
  std::string label;
  std::function<std::string()> build; ///< what went wrong; empty = nothing
};

std::string words_of(const base::Expected<loop::BuildOutcome>& outcome) {
  if (!outcome) return outcome.error().text();
  if (outcome->built) return {};
  return outcome->result.error ? outcome->result.error->text() : outcome->result.outcome.reason;
}

TEST(CudaCulprits, EveryFileBuilds) {
  AKO_NEEDS_NVCC();
  std::map<std::string, std::unique_ptr<Workshop>> shops;
  std::vector<Work> all;
  for (const auto& name : all_culprits(cuda_shelf())) {
    auto& shop = shops[task_of(name)];
    if (!shop) {
      shop = std::make_unique<Workshop>(cuda_shelf(), task_of(name), loop::Target{});
      all.push_back({task_of(name) + "/input", [&shop = *shop] {
                       (void)shop.plain();
                       (void)shop.reference();
                       return std::string();
                     }});
    }
    all.push_back({name, [&shop = *shop, name] {
                     const auto culprit = read_culprit(path_of(cuda_shelf(), name));
                     return words_of(shop.candidate(as_candidate(name, culprit)));
                   }});
  }
  std::atomic<std::size_t> next{0};
  std::mutex telling;
  std::vector<std::future<void>> builders;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    builders.push_back(std::async(std::launch::async, [&] {
      for (std::size_t at = next++; at < all.size(); at = next++) {
        const auto wrong = all[at].build();
        const std::lock_guard lock(telling);
        EXPECT_EQ(wrong, "") << all[at].label;
      }
    }));
  for (auto& builder : builders) builder.get();
}

} // namespace
} // namespace ako::culprits
