// How a shape is cut into timed blocks, as a table.
#include "evaluation/blocks.hpp"

#include "fakes/fake_stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::evaluation {
namespace {

using testing::ElementsAre;

enum class Shared { no, yes };

/// One fresh input and one output of `bytes` each; shared: a static one of 1 MiB as well.
struct Sized {
  model::Contract contract;
  model::ResolvedShape shape;
  Sized(std::int64_t bytes, model::CacheState cache, Shared shared = Shared::yes) {
    contract.accept.cache = cache;
    for (int i = 0; i < 3; ++i) {
      model::Tensor declared;
      model::ResolvedTensor tensor;
      tensor.bytes = i != 1 ? bytes : shared == Shared::yes ? 1 << 20 : 0;
      declared.lifetime = i == 1 ? model::Lifetime::static_ : model::Lifetime::fresh;
      tensor.role = i == 2 ? model::TensorRole::out : model::TensorRole::in;
      contract.tensors.push_back(declared);
      shape.tensors.push_back(tensor);
    }
  }
  BlockPlan plan(double call_ns, std::int64_t cache = 32 << 20) const {
    return plan_blocks(contract, shape, call_ns, cache);
  }
};
constexpr auto k_cold = model::CacheState::cold, k_warm = model::CacheState::warm;

TEST(Blocks, BytesOfASetLeaveStaticTensorsOut) {
  const Sized sized(1000, k_cold);
  EXPECT_EQ(fresh_bytes(sized.contract, sized.shape), 2000);
  EXPECT_EQ(static_bytes(sized.contract, sized.shape), 1 << 20);
  EXPECT_FALSE(has_inouts(sized.shape));
  auto inout = sized.shape;
  inout.tensors[2].role = model::TensorRole::inout;
  EXPECT_TRUE(has_inouts(inout));
}

TEST(Blocks, TimedAndWarmupSetsDoNotOverlap) {
  BlockPlan plan;
  plan.timed_sets = 3;
  plan.warmup_sets = 2;
  EXPECT_THAT(plan.timed(), ElementsAre(0, 1, 2));
  EXPECT_THAT(plan.warmup(), ElementsAre(3, 4));
  EXPECT_EQ(plan.sets(), 5);
}

struct Row {
  const char* name;
  std::int64_t bytes;
  model::CacheState cache;
  Shared shared;
  double call_ns;
  int timed_sets;
  int least_pairs, most_pairs;
};

TEST(Blocks, AsATable) {
  const Row rows[] = {
      {"warm and short: a pass of about 100 us", 4096, k_warm, Shared::yes, 2e3, 50, 10, 10},
      {"warm and very short: at most 64 sets", 4096, k_warm, Shared::yes, 10, 64, 10, 10},
      {"warm and large: half of the cache stays free", 4 << 20, k_warm, Shared::yes, 20e3, 2, 4,
       10},
      {"warm and larger than the cache", 64 << 20, k_warm, Shared::yes, 20e3, 1, 4, 10},
      {"cold, nothing shared: a pass of about 400 us", 4096, k_cold, Shared::no, 20e3, 20, 10, 10},
      {"cold, nothing shared, very short", 4096, k_cold, Shared::no, 2e3, 64, 10, 10},
      {"cold and large: few sets are moved", 4 << 20, k_cold, Shared::no, 20e3, 2, 4, 10},
      {"cold, shared: an eviction a call", 4096, k_cold, Shared::yes, 2e3, 4, 4, 10},
      {"cold and long: one set", 4096, k_cold, Shared::yes, 5e6, 1, 10, 10},
      {"a call of a second: four pairs and no fewer", 4096, k_cold, Shared::no, 1e9, 1, 4, 4},
      {"no time seen yet", 4096, k_warm, Shared::yes, 0, 64, 10, 10},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const BlockPlan plan = Sized(row.bytes, row.cache, row.shared).plan(row.call_ns);
    EXPECT_EQ(plan.timed_sets, row.timed_sets);
    EXPECT_GE(plan.pairs, row.least_pairs);
    EXPECT_LE(plan.pairs, row.most_pairs);
    EXPECT_GE(plan.warmup_sets, 1);
    EXPECT_EQ(plan.cache, row.cache);
    using Eviction = client::SampleJob::Eviction;
    if (row.cache == k_cold) {
      EXPECT_EQ(plan.eviction, row.shared == Shared::yes ? Eviction::every_call : Eviction::once);
    }
  }
}

TEST(Blocks, WhatIsSharedAndWarmNeedsNoEvictionOfItsOwn) {
  Sized sized(4096, k_cold, Shared::yes);
  sized.contract.tensors[1].cache = k_warm;
  EXPECT_EQ(sized.plan(2e3).eviction, client::SampleJob::Eviction::once);
}

TEST(Blocks, SetsFitIntoTheArena) {
  const BlockPlan plan = Sized(200 << 20, k_cold).plan(1e3);
  EXPECT_EQ(plan.timed_sets, 1); // two sets of 400 MiB would leave 512 MiB
}

TEST(Blocks, PairsNeverExceedTheContractsAndFollowItBelowFour) {
  Sized sized(4096, k_cold);
  sized.contract.limits.pairs = 2;
  EXPECT_EQ(sized.plan(1e9).pairs, 2);
  EXPECT_EQ(sized.plan(1e3).pairs, 2);
}

TEST(Blocks, TensorsOfAnotherCacheStateAreNamed) {
  Sized sized(4096, k_cold);
  sized.contract.tensors[1].cache = k_warm;
  sized.contract.tensors[0].cache = k_cold;
  EXPECT_THAT(sized.plan(1e3).warm_tensors, ElementsAre(1));
}

TEST(Coins, TheSameSeedGivesTheSameCoinsAndSeedsAreDrawn) {
  Coins a(5), b(5);
  int heads = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool side = a.flip();
    EXPECT_EQ(side, b.flip());
    heads += side;
    const int below = a.below(7);
    EXPECT_EQ(below, b.below(7));
    EXPECT_TRUE(below >= 0 && below < 7);
  }
  EXPECT_NEAR(heads, 500, 80);
  EXPECT_NE(draw_seed(), draw_seed());
}

} // namespace
} // namespace ako::evaluation
