// Disturbed blocks, the best of many, aggregates, instances.
#include "stats/best_of.hpp"
#include "stats/disturbed.hpp"
#include "stats/instances.hpp"
#include "stats/summary.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace ako::stats {
namespace {

const BlockWatch k_quiet{.clock_ratio = 1.01, .foreign_load = 0.01};
const BlockWatch k_busy{.clock_ratio = 1, .foreign_load = 0.30};

TEST(Disturbed, QuietIsAcceptedAndBusyIsRepeatedThenInvalid) {
  const DisturbedPolicy policy;
  EXPECT_EQ(judge_block({k_quiet}, 1, 0, policy).action, BlockAction::accept);
  std::vector<BlockWatch> attempts;
  for (int run = 1; run <= policy.repeats; ++run) {
    attempts.push_back(k_busy);
    const BlockJudgement judgement = judge_block(attempts, run, run, {.settle = 100});
    EXPECT_EQ(judgement.action, BlockAction::repeat) << run;
    EXPECT_NE(judgement.reason.find("30.0 %"), std::string::npos) << judgement.reason;
  }
  attempts.push_back(k_busy);
  EXPECT_EQ(judge_block(attempts, 4, 4, {.settle = 100}).action, BlockAction::invalid_measurement);
  attempts.push_back(k_quiet); // a quiet run counts whatever came before it
  EXPECT_EQ(judge_block(attempts, 5, 4, {.settle = 100}).action, BlockAction::accept);
}

TEST(Disturbed, TooManyOfAllBlocksIsInvalid) {
  const DisturbedPolicy policy;
  EXPECT_EQ(judge_block({k_busy}, 40, 20, policy).action, BlockAction::repeat);
  EXPECT_EQ(judge_block({k_busy}, 40, 21, policy).action, BlockAction::invalid_measurement);
}

TEST(Disturbed, EachReasonAndItsHonestTwin) {
  const DisturbedPolicy policy;
  EXPECT_TRUE(disturbance(k_quiet, policy).empty());
  EXPECT_TRUE(disturbance({.software_cap = true}, policy).empty());
  EXPECT_FALSE(disturbance({.hardware_limit = true}, policy).empty());
  EXPECT_FALSE(disturbance({.clock_ratio = 0.96}, policy).empty());
  EXPECT_TRUE(disturbance({.clock_ratio = 0.98}, policy).empty());
  EXPECT_FALSE(disturbance({.clock_ratio = std::nan("")}, policy).empty());
  EXPECT_FALSE(disturbance({.foreign_load = std::nan("")}, policy).empty());
  EXPECT_TRUE(disturbance({.clock_ratio = 0.5}, {.most_clock_step = 0}).empty());
}

TEST(BestOf, WinnerAmongSeveralIsMeasuredAgain) {
  EXPECT_EQ(winner_rule(30, Evidence::selection), Claim::measure_again);
  EXPECT_EQ(winner_rule(30, Evidence::fresh), Claim::stands);
  EXPECT_EQ(winner_rule(1, Evidence::selection), Claim::stands);
}

// SWE-agent/SWE-agent#1535, gpu-mode/reference-kernels#162: one shape reported as nearly nothing
// takes first place; reported as nothing it must not become a figure at all.
TEST(Aggregates, RefuseWhatIsNotATime) {
  for (double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::vector<double> times = {120, 95, bad};
    const auto geometric = geometric_mean(times);
    ASSERT_FALSE(geometric);
    EXPECT_EQ(geometric.error().where, "entry 3 of 3");
    EXPECT_FALSE(weighted_mean(times, std::vector<double>{1, 1, 1}));
    EXPECT_FALSE(weighted_mean(std::vector<double>{1, 1, 1}, times));
  }
  EXPECT_FALSE(geometric_mean(std::vector<double>{}));
  EXPECT_FALSE(weighted_mean(std::vector<double>{1, 2}, std::vector<double>{1}));
  EXPECT_NEAR(*geometric_mean(std::vector<double>{2, 8}), 4, 1e-12);
  EXPECT_NEAR(*weighted_mean(std::vector<double>{2, 8}, std::vector<double>{3, 1}), 3.5, 1e-12);
}

std::vector<Instance> instances(std::mt19937_64& engine, int count, double centre, double between) {
  std::normal_distribution<double> normal;
  std::vector<Instance> side;
  for (int i = 0; i < count; ++i) {
    const double own = centre * std::exp(between * normal(engine));
    Instance instance;
    for (int s = 0; s < 40; ++s)
      instance.times_ns.push_back(own * std::exp(0.001 * normal(engine)));
    side.push_back(std::move(instance));
  }
  return side;
}

// Buffers of its own move a process by up to 2 %: an interval over instances must hold zero as
// often as it says, however many samples each instance took.
TEST(Instances, IntervalHoldsAtItsLevel) {
  std::mt19937_64 engine(11);
  int held = 0;
  constexpr int k_trials = 2000;
  for (int trial = 0; trial < k_trials; ++trial) {
    const auto result =
        compare_instances(instances(engine, 5, 100, 0.01), instances(engine, 5, 100, 0.01), 0.95);
    ASSERT_TRUE(result);
    held += result->gain.low <= 0 && 0 <= result->gain.high;
  }
  EXPECT_GT(held, 0.935 * k_trials);
  EXPECT_LT(held, 0.975 * k_trials);
}

TEST(Instances, OneOfASideIsNotEnough) {
  std::mt19937_64 engine(1);
  const auto two = instances(engine, 2, 100, 0.01), one = instances(engine, 1, 100, 0.01);
  const auto refused = compare_instances(two, one, 0.95);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "new side");
  EXPECT_TRUE(compare_instances(two, two, 0.95));
  EXPECT_FALSE(compare_instances(two, two, 1.0));
}

TEST(Instances, ExchangingTheSidesTurnsTheSign) {
  std::mt19937_64 engine(2);
  const auto a = instances(engine, 4, 100, 0.01), b = instances(engine, 6, 95, 0.02);
  const auto one = compare_instances(a, b, 0.99), other = compare_instances(b, a, 0.99);
  EXPECT_NEAR(std::log1p(-one->gain.low), -std::log1p(-other->gain.high), 1e-12);
  EXPECT_GT(one->between_new, one->within);
}

} // namespace
} // namespace ako::stats
