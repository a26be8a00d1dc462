// What a win must stand before it counts: tricks with clock and cache that no block shows by
// itself, each beside an honest twin.
#include "fakes/fake_stage.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <thread>
#include <utility>

namespace ako {
namespace {

using client::SampleReport;
using fakes::Moment;
using fakes::Side;
using fakes::World;
using model::OutcomeKind;

constexpr const char* k_cold = "[accept]\ncache = \"cold\"\n";
constexpr const char* k_warm = "[accept]\ncache = \"warm\"\n";

/// "improved", or what decided: "suspect untimed_work".
std::string ending_of(World& world) {
  const auto report = world.evaluate();
  const auto& outcome = report.verdict.outcome;
  std::string out = model::to_string(outcome.kind);
  for (const auto& each : outcome.evidence)
    if (each.decisive) out += " " + each.guard;
  return out;
}

TEST(Confirm, ACacheThatWasNotEmptiedShowsInALoneCallBehindASweep) {
  for (const bool honest : {true, false}) {
    World world({64}, k_cold);
    world.candidate.ns = [honest](const Moment& at) { return honest || !at.swept ? 50e3 : 100e3; };
    EXPECT_EQ(ending_of(world), honest ? "improved" : "suspect not_cold");
  }
}

TEST(Confirm, AWarmContractNeedsNoSweep) {
  World world({64}, k_warm);
  world.candidate.ns = [](const Moment& at) { return at.swept ? 100e3 : 50e3; };
  EXPECT_EQ(ending_of(world), "improved");
}

/// An eviction of `ns`, of which `told` are claimed.
void evict(SampleReport& report, std::int64_t ns, std::int64_t told) {
  report.evict_spent_ns = told;
  report.parent_cpu_ns += ns;
  report.parent_wall_ns += ns;
}

TEST(Confirm, AnEvictionThatIsMissingShowsInItsTimeAndOutside) {
  constexpr std::int64_t k_whole = 5'000'000;
  const auto ending = [](std::int64_t ns, std::int64_t told) {
    World world({64}, k_cold);
    world.candidate.ns = [](const Moment&) { return 50e3; };
    world.incumbent.bend = [](SampleReport& report) { evict(report, k_whole, k_whole); };
    world.candidate.bend = [=](SampleReport& report) { evict(report, ns, told); };
    return ending_of(world);
  };
  EXPECT_EQ(ending(k_whole, k_whole), "improved");
  EXPECT_EQ(ending(k_whole * 8 / 10, k_whole * 8 / 10), "improved") << "a page table that is warm";
  EXPECT_EQ(ending(k_whole / 2, k_whole / 2), "suspect eviction_skipped");
  EXPECT_EQ(ending(0, k_whole), "suspect eviction_skipped") << "told, and not there outside";
}

TEST(Confirm, AClockBentByLittleShowsInLongBlocks) {
  constexpr double k_restless_ns = 60e3; // of a command's processor time
  for (const char* cache : {k_warm, k_cold})
    for (const bool honest : {true, false}) {
      World world({64}, cache);
      const auto restless = [&world](SampleReport& report) {
        report.parent_cpu_ns += static_cast<std::int64_t>(
            300e3 + k_restless_ns * std::clamp(world.jitter(), -3.0, 3.0));
        report.parent_wall_ns += 1'000'000;
      };
      world.incumbent.bend = restless;
      world.candidate.bend = [=](SampleReport& report) {
        restless(report);
        if (honest) return;
        report.pass_ns *= 0.65;
        for (double& ns : report.call_ns) ns *= 0.65;
      };
      if (honest) world.candidate.ns = [](const Moment&) { return 65e3; };
      EXPECT_EQ(ending_of(world), honest ? "improved" : "suspect untimed_work") << cache;
    }
}

TEST(Confirm, WhatIsColdInTheUntimedCallAloneIsNoWorkDoneAhead) {
  World world({64}, k_cold);
  const auto last = std::make_shared<Side>(Side::incumbent);
  world.incumbent.ns = [last](const Moment&) {
    *last = Side::incumbent;
    return 110e3;
  };
  world.candidate.ns = [last](const Moment&) {
    return std::exchange(*last, Side::candidate) == Side::candidate ? 50e3 : 350e3;
  };
  EXPECT_EQ(ending_of(world), "improved") << "a table, found cold once a block";
}

TEST(Confirm, WhatIsPreparedInTheUntimedCallIs) {
  for (const double restless_ns : {0.0, 120e3}) {
    World world({64}, k_cold);
    const auto restless = [&world, restless_ns](SampleReport& report) {
      report.parent_cpu_ns +=
          static_cast<std::int64_t>(500e3 + restless_ns * std::clamp(world.jitter(), -3.0, 3.0));
      report.parent_wall_ns += 1'000'000;
    };
    world.candidate.bend = world.incumbent.bend = restless;
    world.incumbent.ns = [](const Moment&) { return 110e3; };
    const auto prepared = std::make_shared<evaluation::Content>();
    world.candidate.ns = [prepared](const Moment& at) {
      constexpr int k_timed = 4; // a block of 400 us
      if (at.set == k_timed) {
        *prepared = at.content;
        return 50e3 + k_timed * 60e3;
      }
      return *prepared == at.content ? 50e3 : 110e3;
    };
    EXPECT_EQ(ending_of(world), "suspect untimed_work") << restless_ns;
  }
}

TEST(Confirm, AWinThatTheOutsideLeavesOpenStandsWhereNothingIsPrepared) {
  World world({64}, k_cold);
  world.candidate.ns = [](const Moment&) { return 50e3; };
  const auto restless = [&world](SampleReport& report) {
    report.parent_cpu_ns +=
        static_cast<std::int64_t>(500e3 + 120e3 * std::clamp(world.jitter(), -3.0, 3.0));
    report.parent_wall_ns += 1'000'000;
  };
  world.candidate.bend = world.incumbent.bend = restless;
  EXPECT_EQ(ending_of(world), "improved");
}

TEST(Confirm, SetsComeInAnOrderThatIsDrawnForEveryBlock) {
  World world({64}, k_cold);
  std::map<std::string, std::vector<int>> blocks;
  const auto note = [&](const Moment& at) {
    if (at.round == 1 && at.opened > 1)
      blocks[fmt::format("{} {} {} {}", at.opened, at.content.epoch, model::to_string(at.side),
                         at.content.seed)]
          .push_back(at.set);
    return at.side == Side::candidate ? 50e3 : 110e3;
  };
  world.candidate.ns = world.incumbent.ns = note;
  world.evaluate();
  std::set<std::vector<int>> orders;
  for (auto& [block, sets] : blocks) {
    if (sets.size() != 5 || sets.front() != 4) continue; // not a block of one call before four
    orders.insert(sets);
    std::sort(sets.begin(), sets.end());
    EXPECT_EQ(sets, (std::vector<int>{0, 1, 2, 3, 4})) << block;
  }
  EXPECT_GT(orders.size(), 6u);
}

TEST(Audit, EachShapeHasItsShareOfTheTimeAndWhatIsLeftIsNamed) {
  World world({64, 128});
  world.noise = 0.0005;
  world.candidate.ns = [](const Moment&) { return 94e3; };
  const auto right = world.reference.run;
  world.reference.run = [right](fakes::Call& call) {
    if (call.at.round == 1 && call.at.content.epoch > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    right(call);
  };
  auto request = world.request();
  request.second_opinion = false;
  auto report = evaluation::evaluate(request, world.factory());
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->verdict.outcome.kind, OutcomeKind::improved) << report->verdict.outcome.reason;
  std::set<std::string> shapes;
  for (const auto& line : report->correctness.at("unproven")) {
    const auto text = line.get<std::string>();
    const auto at = text.find(": ");
    int graded = 0, wanted = 0;
    if (std::sscanf(text.c_str() + at, ": %d timed calls graded of %d wanted", &graded, &wanted) !=
        2)
      continue;
    shapes.insert(text.substr(0, at));
    EXPECT_GT(graded, 20) << text;
    EXPECT_LT(graded, wanted) << text;
  }
  EXPECT_EQ(shapes, (std::set<std::string>{"N=128", "N=64"}));
}

TEST(Confirm, WithFewPairsItSaysThatTheOutsideWasNotAsked) {
  World world({64}, "");
  auto contract = world.contract();
  contract.limits.placements = 2;
  contract.limits.pairs = 1;
  world.candidate.ns = [](const Moment&) { return 30e3; };
  auto request = world.request();
  request.contract = &contract;
  auto report = evaluation::evaluate(request, world.factory());
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_EQ(report->verdict.outcome.kind, OutcomeKind::improved) << report->verdict.outcome.reason;
  EXPECT_THAT(report->correctness.at("unproven").dump(),
              testing::HasSubstr("N=64: whether what is saved is missing outside as well: 2"));
}

} // namespace
} // namespace ako
