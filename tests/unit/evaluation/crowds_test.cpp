// Pairs on a core that a neighbour shares at times.
#include "evaluation/crowds.hpp"

#include <gtest/gtest.h>
#include <random>

namespace {

using namespace ako;
using evaluation::Crowds;
using evaluation::PairParts;
using stats::Condition;
using stats::Stretch;

constexpr double k_free = 1.5, k_shared = 2.5;

struct Machine {
  std::mt19937 engine{7};
  double shared =
      0.8; ///< share of the stretches beside a neighbour, who makes them 1.8 times longer

  std::vector<Stretch> block(double call_ns, int calls) {
    std::bernoulli_distribution beside(shared);
    std::vector<Stretch> out;
    for (int i = 0; i < calls; ++i)
      out.push_back(beside(engine) ? Stretch{1.8 * call_ns, 1, k_shared}
                                   : Stretch{call_ns, 1, k_free});
    return out;
  }
};

double mean_of(const std::vector<Stretch>& block) {
  double ns = 0, calls = 0;
  for (const Stretch& each : block) ns += each.ns, calls += each.calls;
  return ns / calls;
}

/// A run of `placements` x 10 pairs of blocks of `calls` calls.
struct Run {
  stats::Series series{{{"s", 1}}, {}};
  std::vector<model::Sample> rows;
  Crowds crowds;

  Run(Machine machine, int placements, int calls, double new_ns = 100) {
    for (int p = 0; p < placements; ++p) {
      stats::Placement placement{{{}}};
      for (int i = 0; i < 10; ++i) {
        PairParts parts;
        parts.stretches = {machine.block(100, calls), machine.block(new_ns, calls)};
        stats::Pair pair;
        pair.old_ns = mean_of(parts.stretches[0]);
        pair.new_ns = mean_of(parts.stretches[1]);
        for (int side : {0, 1}) {
          parts.rows[static_cast<std::size_t>(side)] = rows.size();
          rows.emplace_back().device_ns = side == 0 ? pair.old_ns : pair.new_ns;
        }
        crowds.add(static_cast<std::size_t>(p), 0, static_cast<std::size_t>(i), pair, parts);
        placement.pairs[0].push_back(pair);
      }
      series.placements.push_back(std::move(placement));
    }
  }
};

TEST(Crowds, PairsAreJudgedByTheCallsThatHadTheCoreToThemselves) {
  Run run(Machine{}, 5, 12, 97);
  run.crowds.apply(run.series, run.rows);
  int chosen = 0;
  for (const auto& placement : run.series.placements)
    for (const auto& pair : placement.pairs[0]) {
      if (pair.condition == Condition::disturbed) continue;
      ++chosen;
      EXPECT_DOUBLE_EQ(pair.old_ns, 100);
      EXPECT_DOUBLE_EQ(pair.new_ns, 97);
    }
  EXPECT_GE(chosen, 35);
  for (const auto& row : run.rows) {
    const bool free = (row.flags & model::sample_flag::free_calls) != 0;
    EXPECT_NE(free, (row.flags & model::sample_flag::crowded) != 0);
    if (free) EXPECT_TRUE(row.device_ns == 100 || row.device_ns == 97);
  }
}

TEST(Crowds, WhereTooFewAreFreeEverythingStandsAsItWasMeasured) {
  Machine busy;
  busy.shared = 0.97;
  Run run(busy, 5, 2);
  const auto before = run.series;
  run.crowds.apply(run.series, run.rows);
  for (std::size_t p = 0; p < 5; ++p)
    for (std::size_t i = 0; i < 10; ++i) {
      const auto& pair = run.series.placements[p].pairs[0][i];
      EXPECT_EQ(pair.old_ns, before.placements[p].pairs[0][i].old_ns);
      EXPECT_EQ(pair.condition, Condition::quiet);
    }
  for (const auto& row : run.rows) EXPECT_EQ(row.flags, 0u);
}

TEST(Crowds, WithoutProbesNothingChanges) {
  Run run(Machine{}, 3, 12);
  for (auto& placement : run.series.placements)
    for (auto& pair : placement.pairs[0]) pair.condition = Condition::disturbed;
  Crowds none;
  none.apply(run.series, run.rows);
  EXPECT_EQ(run.series.placements[0].pairs[0][0].condition, Condition::disturbed);
}

// Early placements are chosen again when it is known better how a free core reads.
TEST(Crowds, TheChoiceIsMadeAnewAtEveryLook) {
  Machine early;
  early.shared = 1;
  Run run(early, 1, 12);
  run.crowds.apply(run.series, run.rows); // all that was read so far is "free"
  EXPECT_EQ(run.series.placements[0].pairs[0][0].old_ns, 180);
  Machine machine;
  machine.shared = 0.5;
  for (std::size_t p = 1; p < 4; ++p) {
    stats::Placement placement{{{}}};
    for (std::size_t i = 0; i < 10; ++i) {
      PairParts parts;
      parts.stretches = {machine.block(100, 12), machine.block(100, 12)};
      parts.rows = {run.rows.size(), run.rows.size() + 1};
      run.rows.resize(run.rows.size() + 2);
      stats::Pair pair;
      pair.old_ns = mean_of(parts.stretches[0]), pair.new_ns = mean_of(parts.stretches[1]);
      run.crowds.add(p, 0, i, pair, parts);
      placement.pairs[0].push_back(pair);
    }
    run.series.placements.push_back(std::move(placement));
  }
  run.crowds.apply(run.series, run.rows);
  EXPECT_EQ(run.series.placements[0].pairs[0][0].condition, Condition::quiet);
  EXPECT_EQ(run.rows[0].flags & model::sample_flag::free_calls, 0u) << "no free call was in it";
  EXPECT_DOUBLE_EQ(run.series.placements[1].pairs[0][0].old_ns, 100);
}

TEST(Crowds, ABlockWithoutAFreeCallIsWorthAnotherTry) {
  Machine machine;
  Run run(machine, 2, 12);
  Machine alone, beside;
  alone.shared = 0, beside.shared = 1;
  EXPECT_TRUE(run.crowds.crowded({{alone.block(100, 4), beside.block(100, 4)}, {}}));
  EXPECT_FALSE(run.crowds.crowded({{alone.block(100, 4), alone.block(100, 4)}, {}}));
  EXPECT_FALSE(run.crowds.crowded({{std::vector<Stretch>{}, beside.block(100, 4)}, {}}));
  EXPECT_FALSE(Crowds().crowded({{beside.block(100, 4), beside.block(100, 4)}, {}}));
}

} // namespace
