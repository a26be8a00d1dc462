// Observations to evidence, evidence to outcomes. For each guard what it catches and the honest
// twin it lets pass.
#include "build.hpp"
#include "judge/guards.hpp"

#include <algorithm>
#include <cmath>

namespace {

using namespace ako;
using judge::Place;
using model::Evidence;
using model::OutcomeKind;

Place place() {
  Place p;
  p.shape = "M=4096";
  p.tensor = "y";
  p.seed = 7;
  p.phase = "timed";
  return p;
}

OutcomeKind kind_of(const std::vector<Evidence>& evidence) {
  const auto outcome = judge::decide(evidence);
  return outcome ? outcome->kind : OutcomeKind::equivalent; // nothing decided
}

bool names(const std::vector<Evidence>& evidence, const std::string& guard) {
  return std::any_of(evidence.begin(), evidence.end(),
                     [&](const Evidence& e) { return e.guard == guard; });
}

TEST(Memory, EachDamageIsIncorrectAndItsTwinIsNothing) {
  inputs::PoisonFound none, some{5, 40, 90, 0}, gap{0, -1, -1, 3};
  EXPECT_FALSE(judge::unwritten(place(), none, judge::Proof::one_run));
  const auto unwritten = judge::unwritten(place(), some, judge::Proof::one_run);
  ASSERT_TRUE(unwritten);
  EXPECT_NE(unwritten->text.find("5 elements"), std::string::npos);
  EXPECT_NE(unwritten->text.find("40"), std::string::npos);
  EXPECT_EQ(unwritten->data["place"]["shape"], "M=4096");
  EXPECT_EQ(kind_of({*unwritten}), OutcomeKind::incorrect);

  EXPECT_FALSE(judge::gap_damage(place(), some));
  EXPECT_EQ(kind_of({*judge::gap_damage(place(), gap)}), OutcomeKind::incorrect);
  EXPECT_FALSE(judge::red_zone(place(), {}, judge::Side::after));
  const auto zone = judge::red_zone(place(), {4, 0, 3}, judge::Side::after);
  EXPECT_NE(zone->text.find("4 bytes after"), std::string::npos);
  EXPECT_EQ(kind_of({*zone}), OutcomeKind::incorrect);
  EXPECT_FALSE(judge::changed_input(place(), 9, 9));
  EXPECT_EQ(kind_of({*judge::changed_input(place(), 9, 10)}), OutcomeKind::incorrect);
}

TEST(Memory, AWrongOutputIsTheCandidatesAWrongReferenceTheTasks) {
  const test::CloseCase c(model::Dtype::float32, {4, 64});
  test::Values values = test::normal_values(256), bad = values;
  bad[3] += 1;
  EXPECT_FALSE(judge::compared(place(), c.compare(values, values), c.y(), c.shape));
  const auto wrong = judge::compared(place(), c.compare(bad, values), c.y(), c.shape);
  EXPECT_EQ(kind_of({*wrong}), OutcomeKind::incorrect);
  EXPECT_EQ(wrong->data["worst"]["element"], 3);
  const auto late = judge::wrong_later(place(), c.compare(bad, values), 1000);
  EXPECT_EQ(kind_of({*late}), OutcomeKind::incorrect);
  EXPECT_FALSE(judge::wrong_later(place(), c.compare(values, values), 1000));
  values[9] = std::nan("");
  const auto reference = judge::compared(place(), c.compare(bad, values), c.y(), c.shape);
  EXPECT_EQ(kind_of({*reference}), OutcomeKind::task_error);
}

TEST(Strays, ProcessesDecideThreadsDoNot) {
  judge::WorkerState pool;
  pool.threads_before = 1;
  pool.threads_after = 8;
  pool.allowed_threads = 7;
  EXPECT_TRUE(judge::stray_work(place(), pool).empty());
  judge::WorkerState thread;
  thread.threads_before = 1;
  thread.threads_after = 2;
  const auto weak = judge::stray_work(place(), thread);
  EXPECT_TRUE(names(weak, "stray_threads"));
  EXPECT_EQ(kind_of(weak), OutcomeKind::equivalent); // scrutiny, no verdict
  EXPECT_GT(judge::scrutiny(weak), 0);
  judge::WorkerState child;
  child.children_after = 1;
  EXPECT_EQ(kind_of(judge::stray_work(place(), child)), OutcomeKind::suspect);
}

TEST(Times, SkippedCallsForgedTimesAndHonestBlocks) {
  judge::BlockTimes honest;
  honest.reported_ns = 9e6;
  honest.wall_ns = 1.2e7;
  honest.overhead_ns = 2e6;
  honest.cpu_ns = 1.15e7;
  honest.calls_claimed = honest.calls_ordered = 100;
  EXPECT_TRUE(judge::time_claims(place(), honest).empty());

  auto skipped = honest;
  skipped.calls_claimed = 1;
  EXPECT_EQ(kind_of(judge::time_claims(place(), skipped)), OutcomeKind::suspect);
  for (const double bad : {0.0, -5.0, std::nan(""), HUGE_VAL}) {
    auto forged = honest;
    forged.reported_ns = bad;
    EXPECT_EQ(kind_of(judge::time_claims(place(), forged)), OutcomeKind::suspect) << bad;
  }
  auto patched = honest; // a timer that says a hundredth of the truth
  patched.reported_ns = 9e4;
  patched.cpu_ns = 3e7;
  const auto weak = judge::time_claims(place(), patched);
  EXPECT_TRUE(names(weak, "unexplained_cpu_time"));
  EXPECT_EQ(judge::scrutiny(weak), 2);
  auto slower = honest; // than the clock on the wall
  slower.reported_ns = 1.02 * honest.wall_ns;
  EXPECT_EQ(kind_of(judge::time_claims(place(), slower)), OutcomeKind::invalid_measurement);
  slower.reported_ns = 1.005 * honest.wall_ns; // two clocks
  slower.cpu_ns = 0;
  EXPECT_TRUE(judge::time_claims(place(), slower).empty());
}

TEST(Times, MorePairsAreAskedForAsLongAsTheyMayTell) {
  judge::Saving told, again;
  told.claimed_ns = again.claimed_ns = 1000;
  again.pairs = 8;
  again.claimed_error_ns = 10;
  // Of 40 pairs the error is at best a quarter of that of 8: 5 of it against the half of 1000.
  again.returned_error_ns = 300;
  EXPECT_TRUE(judge::may_tell(told, again, 40));
  again.returned_error_ns = 3000;
  EXPECT_FALSE(judge::may_tell(told, again, 40));
  again.returned_ns = 6000; // far more came back than was saved: that may still show
  EXPECT_TRUE(judge::may_tell(told, again, 40));
  again.returned_ns = 0;
  again.claimed_ns = 100, told.claimed_ns = 90000; // what was claimed is gone
  EXPECT_TRUE(judge::may_tell(told, again, 40));
  again.claimed_error_ns = 100000; // or may be
  EXPECT_TRUE(judge::may_tell(told, again, 200000));
  again.claimed_error_ns = 1e9;
  EXPECT_FALSE(judge::may_tell(told, again, 40));
}

TEST(Floor, TheLargestTermCountsAndUnknownOnesDoNot) {
  const judge::Ceilings ceilings{1e11, 1e12, 1e12};
  EXPECT_DOUBLE_EQ(judge::floor_ns({1e9, 1e9, 1e9}, ceilings), 1e7);
  EXPECT_DOUBLE_EQ(judge::floor_ns({0, 1e9, 1e9}, ceilings), 1e6); // warm
  EXPECT_DOUBLE_EQ(judge::floor_ns({0, 0, 5e9}, ceilings), 5e6);
  EXPECT_EQ(judge::floor_ns({1e9, 1e9, 1e9}, {}), 0);
  using judge::Measured;
  EXPECT_FALSE(judge::below_floor(place(), 100.0, 100.0, Measured::candidate));
  EXPECT_FALSE(judge::below_floor(place(), 99.95, 100.0, Measured::candidate)); // slack
  EXPECT_FALSE(judge::below_floor(place(), 1e-9, 0, Measured::candidate));      // none known
  EXPECT_EQ(kind_of({*judge::below_floor(place(), 1e-7, 100.0, Measured::candidate)}),
            OutcomeKind::invalid_measurement);
  EXPECT_EQ(kind_of({*judge::below_floor(place(), 50, 100.0, Measured::baseline)}),
            OutcomeKind::task_error);
}

TEST(Merged, ElementsOfOtherSetsAreNamed) {
  EXPECT_FALSE(judge::merged_calls(place(), 0, 1));
  const auto found = judge::merged_calls(place(), 64, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(kind_of({*found}), OutcomeKind::suspect);
  EXPECT_NE(found->text.find("64 elements"), std::string::npos);
}

TEST(DeviceMemory, WhatEveryBlockKeepsIsALeakWhatOneTookIsNot) {
  constexpr std::int64_t mib = 1 << 20;
  EXPECT_FALSE(judge::device_memory(place(), {}));
  EXPECT_FALSE(judge::device_memory(place(), {32 * mib, 32 * mib})) << "too few to tell";
  EXPECT_FALSE(judge::device_memory(place(), {64 * mib, 0, 0, 0}));
  EXPECT_FALSE(judge::device_memory(place(), {2 * mib, 2 * mib, 2 * mib})) << "housekeeping";
  EXPECT_FALSE(judge::device_memory(place(), {2 * mib, 2 * mib, -4 * mib, 2 * mib}));
  const auto found = judge::device_memory(place(), {0, 32 * mib, 32 * mib, 32 * mib});
  ASSERT_TRUE(found);
  EXPECT_EQ(kind_of({*found}), OutcomeKind::suspect);
  EXPECT_NE(found->text.find("96.0 MiB"), std::string::npos) << found->text;
}

TEST(State, LeftByACallItDecidesLeftByLoadingItIsASign) {
  EXPECT_FALSE(judge::process_state(place(), {}));
  EXPECT_EQ(kind_of({*judge::process_state(place(), {"rounding"})}), OutcomeKind::suspect);
  auto loading = place();
  loading.phase = "load";
  const auto sign = judge::process_state(loading, {"flush_to_zero"});
  ASSERT_TRUE(sign);
  EXPECT_FALSE(sign->decisive);
}

TEST(Loaded, StaleFilesAndLibraries) {
  judge::LoadedState fine;
  fine.expected_hash = fine.loaded_hash = "aa";
  fine.new_libraries = {"/usr/lib/libgomp.so.1"};
  fine.allowed_libraries = {"libgomp."};
  EXPECT_TRUE(judge::load_claims(place(), fine).empty());
  auto stale = fine;
  stale.loaded_hash = "bb";
  EXPECT_EQ(kind_of(judge::load_claims(place(), stale)), OutcomeKind::stale);
  auto library = fine;
  library.new_libraries.push_back("/opt/libopenblas.so.0");
  EXPECT_EQ(kind_of(judge::load_claims(place(), library)), OutcomeKind::equivalent);
  library.library_calls_forbidden = true;
  EXPECT_EQ(kind_of(judge::load_claims(place(), library)), OutcomeKind::suspect);
  auto patched = fine;
  patched.patched_symbols = {"clock_gettime"};
  EXPECT_EQ(judge::scrutiny(judge::load_claims(place(), patched)), 2);
}

TEST(Decide, OrderAndWeakSigns) {
  EXPECT_FALSE(judge::decide({}));
  const Evidence weak{"replay", "w", {}, false}, wrong{"compare", "c", {}, true},
      cheat{"skipped_calls", "f", {}, true}, stale{"loaded_hash", "s", {}, true},
      new_kind{"something_new", "n", {}, true};
  EXPECT_FALSE(judge::decide({weak}));
  const auto both = judge::decide({weak, cheat, wrong});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->kind, OutcomeKind::incorrect);
  EXPECT_EQ(both->evidence.size(), 3u); // weak signs are kept beside what decided
  EXPECT_EQ(kind_of({wrong, stale}), OutcomeKind::stale);
  EXPECT_EQ(kind_of({new_kind}), OutcomeKind::suspect);
}

TEST(Audit, SharesOfTheGainAreSeen) {
  for (double share : {0.02, 1.0 / 12, 0.3, 0.9}) {
    const double unseen = std::pow(1 - share, static_cast<double>(judge::calls_to_grade(share, 0)));
    EXPECT_LE(unseen, 0.001) << share;
    EXPECT_GE(unseen, 0.001 * (1 - share)) << share << ": more than it takes";
  }
  EXPECT_EQ(judge::calls_to_grade(0.1, 2), 3 * judge::calls_to_grade(0.1, 0));
  // No gain is shown, or nothing is known: as for 1 %; all of the time gone: two calls.
  EXPECT_EQ(judge::calls_to_grade(-INFINITY, 0), judge::calls_to_grade(0.01, 0));
  EXPECT_EQ(judge::calls_to_grade(1, 0), 2);
}

} // namespace
