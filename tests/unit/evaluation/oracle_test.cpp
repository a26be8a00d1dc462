// The contract's self-test through a stage: the reference as a function, and what it gives away.
#include "evaluation/oracle.hpp"

#include "fakes/fake_stage.hpp"
#include "inputs/codec.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako {
namespace {

using fakes::Moment;
using fakes::World;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

auto says(const char* words) {
  return testing::Field(&judge::SelfTestFault::text, HasSubstr(words));
}

constexpr std::int64_t k_bytes = 8 << 20;

base::Expected<judge::SelfTestReport> self_test(World& world) {
  auto stage = fakes::make_fake_stage(world);
  return evaluation::self_test(*stage, world.request(), k_bytes);
}

TEST(Oracle, AnswersAreTheReferencesOnThatVeryContent) {
  World world;
  auto stage = fakes::make_fake_stage(world);
  const auto shapes = world.shapes();
  auto oracle = evaluation::make_oracle(*stage, shapes);
  auto one = oracle({0, inputs::Recipe::plain, 1, judge::InputChange::none});
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_EQ(one->tensors.size(), 2u);
  std::vector<double> x(64), y(64);
  inputs::decode_range(model::Dtype::float32, one->tensors[0], 0, x);
  inputs::decode_range(model::Dtype::float64, one->tensors[1], 0, y);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], fakes::right(x[i]));
  auto same = oracle({0, inputs::Recipe::plain, 1, judge::InputChange::none});
  auto other = oracle({0, inputs::Recipe::plain, 2, judge::InputChange::none});
  auto bent = oracle({0, inputs::Recipe::large, 1, judge::InputChange::none});
  auto changed = oracle({0, inputs::Recipe::plain, 1, judge::InputChange::short_sum});
  ASSERT_TRUE(same && other && bent && changed);
  EXPECT_EQ(same->tensors, one->tensors);
  EXPECT_NE(other->tensors[0], one->tensors[0]);
  EXPECT_NE(bent->tensors[0], one->tensors[0]);
  EXPECT_NE(changed->tensors[0], one->tensors[0]);
  inputs::decode_range(model::Dtype::float32, changed->tensors[0], 0, x);
  EXPECT_EQ(x.back(), 0); // the reference saw what was changed
  inputs::decode_range(model::Dtype::float64, changed->tensors[1], 0, y);
  EXPECT_EQ(y.back(), fakes::right(0));
}

TEST(Oracle, AContractThatCanJudgeHasNoFaults) {
  World world({64, 100, 4000});
  auto report = self_test(world);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(report->faults, IsEmpty());
  EXPECT_FALSE(report->lines.empty());
  // The two smallest are enough for probes; the largest is asked twice for the same.
  EXPECT_EQ(std::count(world.log.begin(), world.log.end(), "open N=4000"), 1);
  EXPECT_THAT(world.log, testing::Not(Contains("call candidate")));
}

TEST(Oracle, ARecipeThatNothingNeedsLeavesWhereTheIncumbentCannotTakeIt) {
  World world({64});
  auto report = self_test(world);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_THAT(report->extra, Contains(inputs::Recipe::tail_mass));
  EXPECT_THAT(report->judged, Contains(inputs::Recipe::tail_mass));
  const auto others = report->judged.size() - 1;
  world.incumbent = fakes::writes([](double x, std::int64_t, const Moment& at) {
    return at.content.recipe == inputs::Recipe::tail_mass ? 0 : fakes::right(x);
  });
  report = self_test(world);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(report->judged, testing::Not(Contains(inputs::Recipe::tail_mass)));
  EXPECT_EQ(report->judged.size(), others);
}

TEST(Oracle, AToleranceThatNothingCanFailIsAFault) {
  World world({64}, "[tolerance]\natol = 1000000000.0\nrtol = 0.9\n");
  auto report = self_test(world);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(report->faults, Contains(says("zeros")));
  World reasonable({64}, "[tolerance]\natol = 0.000001\nrtol = 0.00001\n");
  report = self_test(reasonable);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->faults, IsEmpty());
}

TEST(Oracle, AReferenceThatAnswersDifferentlyTwiceIsAFault) {
  World world;
  world.reference = fakes::writes([](double x, std::int64_t, const Moment& at) {
    return fakes::right(x) + 1e-3 * static_cast<double>(at.call);
  });
  auto report = self_test(world);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(report->faults, Contains(says("another answer")));
}

TEST(Oracle, AReferenceThatIsUnsteadyAtTheLargestShapeAloneIsAFault) {
  World world({64, 100, 4000});
  const auto unsteady = [](double share) {
    return fakes::writes([share](double x, std::int64_t, const Moment& at) {
      const bool large = at.shape->axes.at("N") == 4000;
      return fakes::right(x) * (1 + (large ? share * static_cast<double>(at.call) : 0));
    });
  };
  world.reference = unsteady(1e-3);
  auto report = self_test(world);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(report->faults, Contains(says("at N=4000 the reference gives another answer")));
  world.reference = unsteady(1e-12); // sums in another order
  report = self_test(world);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(report->faults, IsEmpty());
}

TEST(Oracle, OneElementThatIsNoNumberIsAFaultAndOneThatIsInfiniteIsNone) {
  for (const double odd : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    World world;
    world.reference = fakes::writes(
        [odd](double x, std::int64_t i, const Moment&) { return i == 3 ? odd : fakes::right(x); });
    auto report = self_test(world);
    ASSERT_TRUE(report) << report.error().text();
    if (std::isnan(odd)) EXPECT_THAT(report->faults, Contains(says("the reference gives NaN")));
    else EXPECT_THAT(report->faults, IsEmpty()); // logarithms of zero are right
  }
  World world;
  world.reference = fakes::writes([](double, std::int64_t, const Moment&) { return HUGE_VAL; });
  auto report = self_test(world);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(report->faults, Contains(says("the inputs leave only one answer")));
}

TEST(Oracle, AConstantReferenceJudgesNothing) {
  World world;
  world.reference = fakes::writes([](double, std::int64_t, const Moment&) { return 0.0; });
  auto report = self_test(world);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(report->faults, testing::Not(IsEmpty()));
}

TEST(Oracle, AReferenceThatCrashesOrDoesNotLoadIsAnErrorWithItsWords) {
  World world;
  world.reference.fails = [](const Moment&) {
    return std::optional(fakes::failure(client::FailureKind::crashed, "SIGFPE in the reference"));
  };
  auto report = self_test(world);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, base::ErrorKind::invalid);
  EXPECT_THAT(report.error().message, HasSubstr("SIGFPE in the reference"));
  EXPECT_THAT(report.error().next, HasSubstr("ako check"));
  world.reference.load_fails = fakes::failure(client::FailureKind::load_failed, "no such symbol");
  report = self_test(world);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("no such symbol"));
}

} // namespace
} // namespace ako
