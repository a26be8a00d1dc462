// A whole evaluation on scripted sides: what becomes of honest candidates, faster, equal and
// slower, and of a win that fresh processes do not confirm.
#include "fakes/fake_stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace ako {
namespace {

using fakes::Moment;
using fakes::World;
using model::OutcomeKind;
using testing::HasSubstr;

std::function<double(const Moment&)> takes(double ns) {
  return [ns](const Moment&) { return ns; };
}

TEST(Evaluation, AFasterCandidateIsImprovedAndConfirmedByFreshProcesses) {
  World world({64, 100});
  world.candidate.ns = takes(50e3);
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::improved) << report.verdict.outcome.reason;
  EXPECT_EQ(report.verdict.outcome.fault, model::Fault::none);
  EXPECT_NEAR(report.verdict.gain, 0.5, 0.02);
  EXPECT_GT(report.verdict.interval.low, 0.02);
  EXPECT_TRUE(report.verdict.confirmed);
  ASSERT_TRUE(report.second);
  EXPECT_EQ(report.second->outcome.kind, OutcomeKind::improved);
  EXPECT_EQ(world.rounds, 2);
  EXPECT_EQ(report.verdict.shapes.size(), 2u);
  EXPECT_EQ(report.seed.size(), 33u); // one seed a round, each its own
  EXPECT_NE(report.seed.substr(0, 16), report.seed.substr(17));
}

TEST(Evaluation, AnEqualCandidateIsEquivalentAndNeedsNoSecondOpinion) {
  World world;
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::equivalent) << report.verdict.outcome.reason;
  EXPECT_FALSE(report.verdict.confirmed);
  EXPECT_FALSE(report.second);
  EXPECT_EQ(world.rounds, 1);
}

TEST(Evaluation, ASlowerCandidateIsRegressed) {
  World world;
  world.candidate.ns = takes(150e3);
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::regressed) << report.verdict.outcome.reason;
  EXPECT_NEAR(report.verdict.gain, -0.5, 0.02);
}

TEST(Evaluation, AWinOverallDoesNotCoverALosingShape) {
  World world({64, 100});
  world.candidate.ns = [](const Moment& at) { return at.shape->axes.at("N") == 64 ? 20e3 : 130e3; };
  const auto report = world.evaluate();
  EXPECT_GT(report.verdict.gain, 0.02);
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::regressed) << report.verdict.outcome.reason;
  EXPECT_TRUE(report.verdict.shapes[0].within_regression);
  EXPECT_FALSE(report.verdict.shapes[1].within_regression);
}

TEST(Evaluation, NoiseThatHidesTheDifferenceIsUndecidedAndSaysWhatItWouldTake) {
  World world;
  world.noise = 0.2;
  world.candidate.ns = takes(96e3);
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::undecided) << report.verdict.outcome.reason;
  EXPECT_FALSE(report.verdict.more_needed.empty());
  EXPECT_EQ(report.verdict.placements, 6);
}

TEST(Evaluation, AWinInTheFirstRoundAloneIsRefused) {
  World world;
  world.candidate.ns = [](const Moment& at) { return at.round == 1 ? 50e3 : 100e3; };
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::undecided);
  EXPECT_THAT(report.verdict.outcome.reason, HasSubstr("second opinion"));
  EXPECT_FALSE(report.verdict.confirmed);
  ASSERT_TRUE(report.second);
  EXPECT_EQ(report.second->outcome.kind, OutcomeKind::equivalent);
}

TEST(Evaluation, WithoutASecondOpinionAWinIsUnconfirmed) {
  World world;
  world.candidate.ns = takes(50e3);
  auto request = world.request();
  request.second_opinion = false;
  auto report = evaluation::evaluate(request, world.factory());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verdict.outcome.kind, OutcomeKind::improved);
  EXPECT_FALSE(report->verdict.confirmed);
  EXPECT_EQ(world.rounds, 1);
}

TEST(Evaluation, SamplesKeepPlacementPairOrderAndWhatTheyAreFor) {
  World world({64, 100});
  world.candidate.ns = takes(50e3);
  const auto report = world.evaluate();
  int first = 0, second = 0, graded = 0, old_first = 0;
  for (const auto& row : report.samples.rows) {
    (row.flags & model::sample_flag::second_opinion ? second : first) += 1;
    graded += (row.flags & model::sample_flag::graded) != 0;
    if (row.side == model::Side::incumbent) old_first += row.order == 0;
    EXPECT_GT(row.device_ns, 0);
    EXPECT_GE(row.calls, 1);
  }
  EXPECT_EQ(first, 2 * report.verdict.pairs);
  EXPECT_EQ(second, 2 * report.second->pairs);
  EXPECT_GE(graded, report.verdict.placements); // the first pair of each at least
  EXPECT_GT(old_first, 0);                      // a coin decides who begins
  EXPECT_LT(old_first, report.verdict.pairs + report.second->pairs);
  EXPECT_GT(report.calls, 0);
  EXPECT_EQ(report.cache_state, "cold-clean");
}

TEST(Evaluation, NothingIsFilledBeforeEverySideIsLoaded) {
  World world;
  world.evaluate();
  std::size_t loads = 0;
  for (const auto& line : world.log) {
    if (line.starts_with("fill")) break;
    loads += line.starts_with("load");
  }
  EXPECT_EQ(loads, 3u);
}

TEST(Evaluation, TheReferenceNeverSeesAContentBeforeTheCandidateDid) {
  World world({64, 100});
  world.candidate.ns = takes(50e3);
  world.evaluate();
  EXPECT_THAT(world.reference_first, testing::IsEmpty());
}

TEST(Evaluation, NoContentIsTimedTwice) {
  World world;
  world.evaluate();
  std::set<std::string> fills;
  for (const auto& line : world.log) {
    if (!line.starts_with("fill")) continue;
    EXPECT_TRUE(fills.insert(line).second) << line;
  }
}

TEST(Evaluation, WithoutAReferenceTimesAloneDecide) {
  World world;
  world.has_reference = false;
  world.candidate = fakes::writes([](double, std::int64_t, const Moment&) { return 0.0; });
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::equivalent);
}

TEST(Evaluation, WhoTriesOftenIsBelievedLessOften) {
  // A gain that the second opinion shows at 0.7 % and not at a hundredth of that.
  const auto spent = [](int tried) {
    World world;
    world.candidate.ns = [](const Moment&) { return 50e3; };
    auto request = world.request();
    request.tried = tried;
    auto report = evaluation::evaluate(request, world.factory());
    EXPECT_TRUE(report) << report.error().text();
    EXPECT_EQ(report->verdict.outcome.kind, OutcomeKind::improved);
    return report->second->alpha_spent;
  };
  EXPECT_NEAR(spent(1), 100 * spent(100), 1e-9);
  EXPECT_GT(spent(100), 0);
}

} // namespace
} // namespace ako
