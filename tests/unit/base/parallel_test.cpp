#include "base/parallel.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <sched.h>
#include <set>
#include <thread>

namespace ako::base {
namespace {

TEST(InParallel, EveryPieceOnceAndAllDoneAtTheEnd) {
  for (std::size_t count : {0u, 1u, 2u, 1000u}) {
    std::vector<std::atomic<int>> seen(count);
    in_parallel(count, cores_at_start(), [&](std::size_t i) { ++seen[i]; });
    for (const auto& each : seen) EXPECT_EQ(each, 1);
  }
}

TEST(InParallel, NoCoresMeansTheCallerAlone) {
  std::set<std::thread::id> who;
  in_parallel(8, {}, [&](std::size_t) { who.insert(std::this_thread::get_id()); });
  EXPECT_EQ(who, std::set{std::this_thread::get_id()});
}

TEST(InParallel, HelpersLeaveTheCoreThatTheCallerIsBoundTo) {
  const auto& cores = cores_at_start();
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  std::mutex lock;
  std::set<int> helped;
  std::atomic<bool> helper_came{false};
  // In a thread of its own: the rest of the program stays unbound.
  std::thread bound([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cores.back()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    ASSERT_EQ(usable_cores(), std::vector{cores.back()});
    const auto caller = std::this_thread::get_id();
    in_parallel(2, cores, [&](std::size_t) {
      if (std::this_thread::get_id() == caller) {
        while (!helper_came) std::this_thread::yield();
        return;
      }
      helper_came = true;
      const std::scoped_lock held(lock);
      for (const int core : usable_cores()) helped.insert(core);
    });
  });
  bound.join();
  EXPECT_FALSE(helped.empty());
  EXPECT_FALSE(helped.contains(cores.back()));
}

} // namespace
} // namespace ako::base
