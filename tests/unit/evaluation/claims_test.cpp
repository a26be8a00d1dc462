// What a candidate claims against what was seen outside.
#include "evaluation/claims.hpp"

#include <gtest/gtest.h>
#include <random>

namespace ako::evaluation {
namespace {

constexpr double k_old_ns = 100e3, k_around_ns = 60e3;

/// Pairs whose sides take what is said inside and outside the timed calls, with a few percent of
/// noise.
struct Told {
  double claimed = 50e3; ///< by the candidate
  double spent = 50e3;   ///< by it in truth, inside or elsewhere
  double idle_spin = 0;  ///< processor time of a team that has nothing to do
  double noise = 0.05;   ///< of what lies around the calls
  int pairs = 20;
  int threads = 1;
  bool device = false; ///< timed by device timestamps
  bool windows = false;
  double others = 0; ///< of the time that each command needs, how much others' work takes in it
  double others_after = 0; ///< ns that others' work takes of the candidate behind its calls
};

/// The core is given to others while the calls run (by the share) and behind them.
void give_away(client::SampleReport& report, double spent, double share, double after) {
  const double within = share * spent;
  report.cpu_ns = static_cast<std::int64_t>(spent);
  report.last_ns = static_cast<std::int64_t>(spent + within);
  report.pass_ns += within;
  report.parent_wait_ns = static_cast<std::int64_t>(within + after);
  report.parent_wall_ns += report.parent_wait_ns;
}

std::vector<model::Evidence> evidence_of(const Told& told) {
  std::mt19937 random(3);
  std::normal_distribution<double> jitter(0, told.noise);
  Claims claims(told.threads);
  for (int i = 0; i < told.pairs; ++i) {
    judge::PairClaims pair;
    client::SampleReport old, now;
    old.pass_ns = k_old_ns;
    now.pass_ns = told.claimed;
    const auto around = [&] { return k_around_ns * (1 + jitter(random)); };
    old.parent_cpu_ns = static_cast<std::int64_t>(k_old_ns + around());
    now.parent_wall_ns = static_cast<std::int64_t>(told.spent + around());
    now.parent_cpu_ns = static_cast<std::int64_t>(told.spent + told.idle_spin + around());
    old.parent_wall_ns = old.parent_cpu_ns;
    old.calls = now.calls = 1;
    if (told.windows) {
      old.window_ns = k_old_ns + 2e3;
      now.window_ns = told.spent + 2e3 + 100 * jitter(random);
    }
    give_away(old, k_old_ns, told.others, 0);
    give_away(now, told.spent, told.others, told.others_after);
    if (told.device) old.device = now.device = {{"how", "cupti"}};
    claims.note(model::Side::incumbent, old, pair);
    claims.note(model::Side::candidate, now, pair);
    claims.add(pair);
  }
  return claims.evidence({});
}

TEST(Claims, WhatIsSavedMustBeMissingOutside) {
  EXPECT_TRUE(evidence_of({}).empty()) << "an honest half";
  EXPECT_TRUE(evidence_of({.claimed = 100e3, .spent = 100e3}).empty()) << "no claim";
  EXPECT_TRUE(evidence_of({.claimed = 150e3, .spent = 170e3}).empty()) << "a loss";
  const auto found = evidence_of({.claimed = 50e3, .spent = 100e3});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].guard, "untimed_work");
  EXPECT_TRUE(found[0].decisive);
  EXPECT_NEAR(found[0].data.at("claimed_ns").get<double>(), 50e3, 1);
  EXPECT_NEAR(found[0].data.at("returned_ns").get<double>(), 50e3, 5e3);
}

TEST(Claims, HalfMayComeBackAndNoiseIsNoEvidence) {
  EXPECT_TRUE(evidence_of({.claimed = 50e3, .spent = 70e3}).empty()) << "warm-up of its own";
  EXPECT_FALSE(evidence_of({.claimed = 50e3, .spent = 90e3}).empty());
  EXPECT_TRUE(evidence_of({.claimed = 99e3, .spent = 100e3, .noise = 0.5}).empty());
  EXPECT_TRUE(evidence_of({.claimed = 50e3, .spent = 100e3, .pairs = 5}).empty()) << "too few";
}

TEST(Claims, AMachineThatWorksForOthersIsNoSignOfACheat) {
  EXPECT_TRUE(evidence_of({.others = 1.5}).empty()) << "the longer it runs, the more is taken";
  EXPECT_TRUE(evidence_of({.others_after = 40e3}).empty());
  EXPECT_FALSE(evidence_of({.spent = 100e3, .others = 0.3}).empty())
      << "what it did itself is seen through the load";
  EXPECT_TRUE(evidence_of({.threads = 4, .others = 1.5}).empty());
}

TEST(Claims, WhatATeamWaitsForItselfBuysNothing) {
  // Its work is done elsewhere, by threads that crowd on one core.
  EXPECT_FALSE(evidence_of({.spent = 100e3, .threads = 4, .others_after = 400e3}).empty());
}

TEST(Claims, ATeamsIdleSpinningIsNotHeldAgainstIt) {
  EXPECT_TRUE(evidence_of({.idle_spin = 300e3, .threads = 4}).empty());
  EXPECT_FALSE(evidence_of({.idle_spin = 300e3, .threads = 1}).empty());
  EXPECT_FALSE(evidence_of({.spent = 100e3, .threads = 4}).empty()) << "the wall clock sees it";
}

TEST(Claims, TheHostsTimeIsNoEvidenceAboutADevice) {
  // As seen in A/A on a device: 0.2 us claimed, and a worker that queues 70 us slower.
  EXPECT_TRUE(evidence_of({.claimed = 99.8e3, .spent = 169e3, .device = true}).empty());
  EXPECT_FALSE(evidence_of({.claimed = 99.8e3, .spent = 169e3}).empty());
}

TEST(Claims, WhatPassedBetweenAkosOwnKernelsIs) {
  // Half is claimed to be saved: what left no record still lies between them.
  EXPECT_FALSE(evidence_of({.spent = 100e3, .device = true, .windows = true}).empty());
  EXPECT_TRUE(evidence_of({.spent = 50e3, .device = true, .windows = true}).empty());
  // Launches of another kind begin some microseconds later.
  EXPECT_TRUE(
      evidence_of({.claimed = 95e3, .spent = 104e3, .device = true, .windows = true}).empty());
}

} // namespace
} // namespace ako::evaluation
