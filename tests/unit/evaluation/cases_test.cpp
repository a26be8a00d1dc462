// What is judged, in which order, and how what the keeper found becomes evidence.
#include "evaluation/correctness.hpp"

#include "fakes/fake_stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::evaluation {
namespace {

using inputs::Recipe;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> tags(const CasePlan& plan) {
  std::vector<std::string> out;
  for (const auto& one : plan.cases)
    out.push_back(one.shape->tag + " " + std::string(inputs::to_string(one.recipe)));
  return out;
}

constexpr std::int64_t k_plenty = std::int64_t{1} << 40;

TEST(Cases, SmallestFirstEdgesOnThePlainRecipeAlone) {
  fakes::World world({100, 64});
  auto request = world.request();
  request.recipes = {Recipe::plain, Recipe::ties};
  const std::vector<model::ResolvedShape> edges(request.edges.begin(), request.edges.begin() + 1);
  ASSERT_EQ(edges[0].tag, "edge:N=1");
  const CasePlan plan = plan_cases(request, edges, k_plenty);
  EXPECT_THAT(tags(plan), ElementsAre("edge:N=1 plain", "N=64 plain", "N=64 ties", "N=100 plain",
                                      "N=100 ties"));
  EXPECT_EQ(plan.cases[1].sets, 2);
  EXPECT_GT(plan.cases[1].repeats, 1);
  EXPECT_TRUE(plan.cases[1].precision);
  EXPECT_FALSE(plan.cases[0].precision);
  EXPECT_TRUE(plan.unproven.empty());
}

constexpr int k_large = 9 << 18; ///< elements of x and of y: 18 MiB a set

TEST(Cases, LargeShapesAreJudgedOnOneContentAndWhatIsLeftOutIsNamed) {
  fakes::World world({64, k_large});
  auto request = world.request();
  request.recipes = {Recipe::plain, Recipe::ties};
  CasePlan plan = plan_cases(request, {}, k_plenty);
  EXPECT_THAT(tags(plan), ElementsAre("N=64 plain", "N=64 ties", "N=2359296 plain"));
  EXPECT_EQ(plan.cases[2].sets, 1);
  EXPECT_EQ(plan.cases[2].repeats, 2);
  EXPECT_FALSE(plan.cases[2].unmarked);
  ASSERT_EQ(plan.unproven.size(), 1u);
  EXPECT_EQ(plan.unproven[0],
            "N=2359296: ties inputs: judged at smaller shapes alone, one set is 18.0 MiB");
  plan = plan_cases(request, {}, 10 << 20);
  EXPECT_THAT(tags(plan), ElementsAre("N=64 plain", "N=64 ties"));
  ASSERT_EQ(plan.unproven.size(), 1u);
  // x, y, and y in float64; without a second answer of 9 MiB.
  EXPECT_THAT(plan.unproven[0], HasSubstr("N=2359296: needs 36.0 MiB, 10.0 MiB are free"));
  EXPECT_EQ(plan.blocked, plan.unproven[0]);
  plan = plan_cases(request, {}, 40 << 20);
  EXPECT_EQ(plan.cases[2].repeats, 1);
  EXPECT_THAT(plan.unproven[0],
              HasSubstr("N=2359296: the same answer twice: needs 45.0 MiB, 40.0 MiB are free"));
}

TEST(Cases, WithLargeShapesAloneTheSmallestIsJudgedInFullAndRecipesAtASmallEdge) {
  fakes::World world({k_large, k_large + 1});
  auto request = world.request();
  request.recipes = {Recipe::plain, Recipe::ties};
  const std::vector<model::ResolvedShape> edges(request.edges.begin(), request.edges.begin() + 2);
  ASSERT_EQ(edges[1].tag, "edge:N=15");
  CasePlan plan = plan_cases(request, edges, k_plenty);
  EXPECT_THAT(tags(plan), ElementsAre("edge:N=1 plain", "edge:N=15 plain", "edge:N=15 ties",
                                      "N=2359296 plain", "N=2359297 plain"));
  EXPECT_EQ(plan.cases[3].sets, 2);
  EXPECT_TRUE(plan.cases[3].unmarked);
  EXPECT_FALSE(plan.cases[4].unmarked);
  EXPECT_EQ(plan.unproven.size(), 2u);
  plan = plan_cases(request, {}, k_plenty);
  EXPECT_THAT(tags(plan), ElementsAre("N=2359296 plain", "N=2359296 ties", "N=2359297 plain"));
}

TEST(Cases, LargeShapesHideNeitherAnotherAnswerEachTimeNorFaultsOfBentInputs) {
  fakes::World world({k_large});
  auto contract = world.contract();
  contract.kernel.deterministic = true;
  auto request = world.request();
  request.contract = &contract;
  request.recipes = {Recipe::plain, Recipe::tail_mass};
  const auto ended_by = [&](fakes::Script candidate) -> std::string {
    world.candidate = std::move(candidate);
    auto stage = fakes::make_fake_stage(world);
    auto judged = judge_candidate(*stage, request, request.edges, 3, "check");
    EXPECT_TRUE(judged) << judged.error().text();
    return judged->ended ? judged->ended->evidence.back().guard : "";
  };
  EXPECT_EQ(ended_by({}), "");
  EXPECT_EQ(ended_by(fakes::writes([](double x, std::int64_t i, const fakes::Moment& at) {
              const bool off = at.shape->tag == "N=2359296" && at.call % 4 < 2 && i == 5;
              return fakes::right(x) * (off ? 1 + 2e-7 : 1);
            })),
            "stability");
  EXPECT_EQ(ended_by(fakes::writes([](double x, std::int64_t, const fakes::Moment& at) {
              return at.content.recipe == Recipe::tail_mass ? 0 : fakes::right(x);
            })),
            "compare");
}

TEST(Cases, TheWorstOfSeveralRunsIsOnRecord) {
  fakes::World world({64});
  world.candidate = fakes::writes([](double x, std::int64_t, const fakes::Moment& at) {
    return fakes::right(x) * (1 + 1e-7 * double(at.call / 2 % 2)); // both sets of every other run
  });
  auto stage = fakes::make_fake_stage(world);
  auto judged = judge_candidate(*stage, world.request(), {}, 3, "check");
  ASSERT_TRUE(judged) << judged.error().text();
  ASSERT_FALSE(judged->ended) << judged->ended->reason;
  EXPECT_EQ(judged->lines.at(0).at("stability"), "reorder noise");
}

TEST(Cases, JudgedRecipesReachTheCandidate) {
  fakes::World world;
  auto request = world.request();
  request.recipes = {Recipe::plain, Recipe::tail_mass};
  world.candidate = fakes::writes([](double x, std::int64_t, const fakes::Moment& at) {
    return at.content.recipe == Recipe::tail_mass ? 0 : fakes::right(x);
  });
  auto stage = fakes::make_fake_stage(world);
  auto judged = judge_candidate(*stage, request, request.edges, 3, "check");
  ASSERT_TRUE(judged) << judged.error().text();
  ASSERT_TRUE(judged->ended);
  EXPECT_EQ(judged->ended->kind, model::OutcomeKind::incorrect);
  request.recipes = {Recipe::plain};
  judged = judge_candidate(*stage, request, request.edges, 3, "check");
  ASSERT_TRUE(judged);
  EXPECT_FALSE(judged->ended);
  EXPECT_EQ(judged->lines.size(), request.shapes.size() + request.edges.size());
  EXPECT_EQ(judged->lines.back().at("stability"), "stable");
}

TEST(Cases, TheCandidatesErrorIsHeldAgainstTheIncumbents) {
  fakes::World world({64}, "");
  world.candidate = fakes::writes([](double x, std::int64_t i, const fakes::Moment&) {
    return fakes::right(x) * (1 + (i % 2 ? 8e-7 : -8e-7));
  });
  auto stage = fakes::make_fake_stage(world);
  auto request = world.request();
  auto judged = judge_candidate(*stage, request, {}, 3, "check");
  ASSERT_TRUE(judged) << judged.error().text();
  ASSERT_FALSE(judged->ended) << judged->ended->reason;
  ASSERT_TRUE(judged->precision);
  EXPECT_EQ(judged->precision->kind, judge::PrecisionClass::lower);
  world.candidate = {};
  judged = judge_candidate(*stage, request, {}, 3, "check");
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->precision->kind, judge::PrecisionClass::same);
}

TEST(Grading, EachFindingOfTheKeeperIsEvidenceOfItsOwnGuard) {
  fakes::World world;
  const auto shape = world.shapes()[0];
  struct TableRow {
    const char* guard;
    void (*spoil)(client::BufferCheck&);
  };
  const TableRow rows[] = {
      {"unwritten_elements", [](client::BufferCheck& b) { b.unwritten = 2; }},
      {"gap_damage", [](client::BufferCheck& b) { b.gap_damage = 1; }},
      {"red_zone", [](client::BufferCheck& b) { b.red_before = 4; }},
      {"red_zone", [](client::BufferCheck& b) { b.red_after = 4; }},
      {"changed_input", [](client::BufferCheck& b) { b.input_changed = true; }},
  };
  judge::Place place;
  place.shape = shape.tag;
  for (const TableRow& row : rows) {
    client::CheckReport report;
    report.buffers.emplace_back();
    report.buffers[0].tensor = 1;
    report.buffers[0].set = 3;
    row.spoil(report.buffers[0]);
    const auto evidence = evidence_of(report, shape, place);
    ASSERT_EQ(evidence.size(), 1u) << row.guard;
    EXPECT_EQ(evidence[0].guard, row.guard);
    EXPECT_TRUE(evidence[0].decisive);
    EXPECT_EQ(evidence[0].data.at("place").at("tensor"), "y");
    EXPECT_EQ(evidence[0].data.at("place").at("set"), 3);
  }
  EXPECT_TRUE(evidence_of({}, shape, place).empty());
}

TEST(Grading, OneOutputThatCancelsIsJudgedByWhatOthersLikeItMeasure) {
  fakes::World world({1});
  // This content's only output is a millionth of what outputs usually are.
  world.reference = fakes::writes([](double, std::int64_t, const fakes::Moment& at) {
    return at.content.seed == 4 ? 1e-6 : 1.0;
  });
  double error = 2e-7;
  world.candidate =
      fakes::writes([&](double, std::int64_t, const fakes::Moment&) { return 1e-6 + error; });
  const auto shape = world.shapes()[0];
  const auto request = world.request();
  auto stage = fakes::make_fake_stage(world);
  ASSERT_TRUE(stage->open(shape, 1, 0));
  auto scales = scales_of(*stage, request, shape, Recipe::plain, 9);
  ASSERT_TRUE(scales) << scales.error().text();
  ASSERT_EQ(scales->size(), 2u);
  EXPECT_DOUBLE_EQ((*scales)[1], 1);
  const Content content{Recipe::plain, 4, 0};
  const auto passes = [&](const Scales& known) {
    Grader grader(*stage, request, shape, known);
    EXPECT_TRUE(stage->fill(content));
    grader.renew(content);
    EXPECT_TRUE(stage->call(model::Side::candidate, 0));
    EXPECT_TRUE(grader.expect(0));
    return grader.grade(0, {})->pass;
  };
  EXPECT_TRUE(passes(*scales));
  EXPECT_FALSE(passes({}));
  error = 1e-5; // no rounding of sums of this size
  EXPECT_FALSE(passes(*scales));
}

TEST(Grading, OutputsOfManyElementsSayTheirOwnMagnitude) {
  fakes::World world({64});
  const auto request = world.request();
  auto stage = fakes::make_fake_stage(world);
  ASSERT_TRUE(stage->open(world.shapes()[0], 1, 0));
  auto scales = scales_of(*stage, request, world.shapes()[0], Recipe::plain, 9);
  ASSERT_TRUE(scales);
  EXPECT_TRUE(scales->empty());
  EXPECT_EQ(std::count(world.log.begin(), world.log.end(), "call reference"), 0);
}

TEST(Grading, TheReferenceRunsOnceForAContentAndAgainForANewOne) {
  fakes::World world;
  const auto shape = world.shapes()[0];
  const auto request = world.request();
  auto stage = fakes::make_fake_stage(world);
  ASSERT_TRUE(stage->open(shape, 2, 0));
  ASSERT_TRUE(stage->fill({Recipe::plain, 4, 0}));
  Grader grader(*stage, request, shape);
  grader.renew({Recipe::plain, 4, 0});
  const auto runs = [&] {
    return std::count(world.log.begin(), world.log.end(), "call reference");
  };
  ASSERT_TRUE(grader.expect(0));
  ASSERT_TRUE(grader.expect(0));
  EXPECT_EQ(runs(), 1);
  ASSERT_TRUE(grader.expect(1));
  EXPECT_EQ(runs(), 2);
  ASSERT_TRUE(stage->call(model::Side::candidate, 0));
  EXPECT_TRUE(grader.grade(0, {})->pass);
  ASSERT_TRUE(stage->fill({Recipe::plain, 5, 0}));
  grader.renew({Recipe::plain, 5, 0});
  ASSERT_TRUE(stage->call(model::Side::candidate, 0));
  EXPECT_FALSE(grader.grade(0, {})->pass); // the answer of before is void
  EXPECT_EQ(runs(), 3);                    // asked again where a comparison fails
  ASSERT_TRUE(grader.expect(0));
  EXPECT_EQ(runs(), 4);
  EXPECT_TRUE(grader.grade(0, {})->pass);
}

} // namespace
} // namespace ako::evaluation
