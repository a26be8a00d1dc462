#include "fakes/kernel_bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

namespace ako {
namespace {

using fakes::axpb_source;
using fakes::Bench;

#define ASSERT_OK(answer) ASSERT_TRUE(answer) << (answer).error().text

std::vector<int> first_sets(int count) {
  std::vector<int> sets(static_cast<std::size_t>(count));
  std::iota(sets.begin(), sets.end(), 0);
  return sets;
}

TEST(Worker, LoadsWhatWasBuiltAndSaysHowItIsContained) {
  auto bench = Bench::make(100, 2);
  const auto options = bench.options(axpb_source());
  auto worker = client::Worker::start(options);
  ASSERT_OK(worker);
  const auto report = worker->load();
  ASSERT_OK(report);
  EXPECT_EQ(report->hash, options.spec.library_hash);
  EXPECT_FALSE(report->has_prepare);
  EXPECT_EQ(report->threads_before, 1);
  EXPECT_EQ(report->threads_after, 1);
  EXPECT_TRUE(report->interposed.empty());
  EXPECT_TRUE(report->sandbox.seccomp);
  EXPECT_FALSE(report->sandbox.label.empty());
}

TEST(Worker, OneCallWritesEveryElementAndNothingElse) {
  auto bench = Bench::make(1000, 3);
  auto worker = bench.worker(axpb_source());
  ASSERT_OK(worker);
  const auto called = worker->call(1);
  ASSERT_OK(called);
  EXPECT_GT(called->ns, 0);
  EXPECT_GE(called->parent_wall_ns, called->ns);
  EXPECT_TRUE(called->changed.empty());
  EXPECT_EQ(bench.wrong_elements(1), 0);
  const auto check = bench.keeper.check(*bench.arena, {1});
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->clean());
  const auto all = bench.keeper.check(*bench.arena);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->buffers.size(), 2u); // the two sets that nobody called
  EXPECT_EQ(all->buffers[0].unwritten, 1000);
}

TEST(Worker, AWarmPassCallsEverySetOnce) {
  auto bench = Bench::make(512, 8);
  auto worker = bench.worker(axpb_source());
  ASSERT_OK(worker);
  client::SampleJob job;
  job.sets = {5, 1, 2, 3, 4};
  job.warmup_sets = {0};
  job.warmup_ns = 2'000'000;
  job.cache = model::CacheState::warm;
  const auto report = worker->sample(job);
  ASSERT_OK(report);
  EXPECT_EQ(report->calls, 5);
  EXPECT_TRUE(report->call_ns.empty());
  EXPECT_GT(report->pass_ns, 0);
  EXPECT_LT(report->pass_ns, static_cast<double>(report->parent_wall_ns));
  EXPECT_GE(report->warmup_spent_ns, 2'000'000);
  EXPECT_GT(report->last_ns, report->first_ns);
  EXPECT_GT(report->parent_cpu_ns, 1'000'000);
  EXPECT_EQ(report->cache_state, "warm");
  for (int set = 0; set < 6; ++set) EXPECT_EQ(bench.wrong_elements(set), 0) << set;
  EXPECT_EQ(bench.wrong_elements(6), 512);
}

TEST(Worker, ColdCallsAreTimedOneByOneAndTheProbeSaysThatTheyAreCold) {
  auto bench = Bench::make(1 << 18, 3, 0);
  auto worker = bench.worker(axpb_source());
  ASSERT_OK(worker);
  client::SampleJob job;
  job.sets = first_sets(3);
  const auto cold = worker->sample(job);
  ASSERT_OK(cold);
  EXPECT_EQ(cold->call_ns.size(), 3u);
  EXPECT_GT(cold->evict_spent_ns, 0);
  EXPECT_EQ(cold->cache_state, "cold-clean");
  const auto sum = std::accumulate(cold->call_ns.begin(), cold->call_ns.end(), 0.0);
  EXPECT_NEAR(cold->pass_ns, sum, 1);
  const auto probe = worker->residency(0);
  ASSERT_OK(probe);
  EXPECT_LT(probe->resident_share, 0.2);
  EXPECT_GT(probe->evicted_line_ns, 1.5 * probe->cached_line_ns);
}

TEST(Worker, ColdIsRefusedWithoutAnEvictionBuffer) {
  auto bench = Bench::make(64, 1);
  auto worker = bench.worker(axpb_source());
  ASSERT_OK(worker);
  client::SampleJob job;
  job.sets = {0};
  const auto report = worker->sample(job);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, client::FailureKind::environment);
  EXPECT_TRUE(worker->alive());
}

TEST(Worker, IntegersAndScalarsArrive) {
  auto bench = Bench::make(77, 1);
  auto worker = bench.worker(R"(#include <cstdint>
extern "C" int ako_call(void* const* t, const int64_t* i, const double* s, void* stream) {
  return stream == nullptr && i[0] == 77 && s[0] == 2.5 && t[2] != nullptr ? 0 : 5;
})");
  ASSERT_OK(worker);
  EXPECT_TRUE(worker->call(0));
}

TEST(Worker, TwoSidesSeeTheSameAddresses) {
  auto bench = Bench::make(256, 2);
  auto one = bench.worker(axpb_source());
  auto two = bench.worker(axpb_source("(void)tensors[2];"));
  ASSERT_OK(one);
  ASSERT_OK(two);
  ASSERT_OK(one->call(0));
  ASSERT_OK(two->call(1));
  EXPECT_EQ(bench.wrong_elements(0) + bench.wrong_elements(1), 0);
}

TEST(Worker, APausedSideUsesNoProcessorTime) {
  auto bench = Bench::make(64, 1);
  auto worker = bench.worker(axpb_source(
      "", "#include <thread>\nstatic std::thread g([] { for (;;) asm volatile(\"\"); });"));
  ASSERT_OK(worker);
  timespec nap{0, 50'000'000};
  nanosleep(&nap, nullptr);
  EXPECT_GT(worker->idle_cpu_ns() + worker->idle_wait_ns(),
            5'000'000); // stray work shows while it has nothing to do
  ASSERT_TRUE(worker->pause());
  const auto before = worker->activity().cpu_ns;
  nanosleep(&nap, nullptr);
  EXPECT_EQ(worker->activity().cpu_ns, before);
  EXPECT_TRUE(worker->resume());
  EXPECT_TRUE(worker->call(0));
}

TEST(Worker, AnIdleHonestSideUsesNone) {
  auto bench = Bench::make(64, 1);
  auto worker = bench.worker(axpb_source());
  ASSERT_OK(worker);
  ASSERT_OK(worker->call(0));
  timespec nap{0, 50'000'000};
  nanosleep(&nap, nullptr);
  EXPECT_LT(worker->idle_cpu_ns(), 5'000'000);
}

TEST(Worker, OpenMpTeamsWork) {
  auto bench = Bench::make(1 << 16, 4);
  auto worker = bench.worker(axpb_source("", "") + R"(
extern "C" int ako_prepare(void* const*, const int64_t*, const double*, void*) {
  int team = 0;
#pragma omp parallel reduction(+ : team)
  team += 1;
  return team == 2 ? 0 : team + 100;
})");
  ASSERT_OK(worker);
  auto prepared = worker->call(0, client::Function::prepare);
  if (!prepared) { // one core
    EXPECT_EQ(prepared.error().data["code"], 101) << prepared.error().text;
  }
  EXPECT_TRUE(worker->alive());
  ASSERT_OK(worker->call(0));
}

TEST(Worker, QuitIsInOrderAndIdempotent) {
  auto bench = Bench::make(64, 1);
  auto worker = bench.worker(axpb_source());
  ASSERT_OK(worker);
  worker->quit();
  EXPECT_FALSE(worker->alive());
  worker->quit();
  const auto called = worker->call(0);
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, client::FailureKind::environment);
}

} // namespace
} // namespace ako
