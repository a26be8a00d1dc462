#include "stats/centre.hpp"

#include "stats/summary.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace ako::stats {
namespace {

struct Made {
  std::vector<double> ratios;
  std::vector<int> counts;
};

/// `odd` may turn one pair's ratio into another; it gets a uniform number.
template <class F> Made make(int placements, double noise, double truth, F odd) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Made made;
  for (int p = 0; p < placements; ++p) {
    made.counts.push_back(10);
    for (int i = 0; i < 10; ++i) {
      const double ratio = truth + noise * normal(engine);
      made.ratios.push_back(odd(ratio, uniform(engine)));
    }
  }
  return made;
}

TEST(Centre, ClockStatesOnBothSidesAreSeenThrough) {
  const Made made = make(20, 0.005, -0.01, [](double r, double u) {
    return u < 0.25 ? r - 0.07 : u < 0.5 ? r + 0.07 : r;
  });
  const Centre centre = centre_of(made.ratios, made.counts);
  EXPECT_EQ(centre.weighing, Weighing::bounded);
  EXPECT_NEAR(mean(centre.values), -0.01, 0.002);
  EXPECT_LT(centre.pair_error, 0.005);
}

// A path that one program takes in a sixth of its calls belongs to its time: the culprit is the
// centre that hides it.
TEST(Centre, SlowPathOfOneSideCounts) {
  const Made made =
      make(20, 0.004, 0, [](double r, double u) { return u < 1.0 / 6 ? r + 0.12 : r; });
  const Centre centre = centre_of(made.ratios, made.counts);
  EXPECT_EQ(centre.weighing, Weighing::plain);
  EXPECT_NEAR(mean(centre.values), 0.02, 0.006);
}

// ... and its twin: as many long calls, but on either side.
TEST(Centre, LongCallsOnEitherSideDoNotCount) {
  const Made made = make(20, 0.004, 0, [](double r, double u) {
    return u < 1.0 / 12 ? r + 0.12 : u < 1.0 / 6 ? r - 0.12 : r;
  });
  const Centre centre = centre_of(made.ratios, made.counts);
  EXPECT_EQ(centre.weighing, Weighing::bounded);
  EXPECT_NEAR(mean(centre.values), 0, 0.001);
}

// Twenty pairs of which eleven stand on a state beside the truth: no window may settle there.
TEST(Centre, FewPairsOnOneStateAreNotTheTruth) {
  std::vector<double> ratios;
  for (int i = 0; i < 20; ++i)
    ratios.push_back((i % 2 == 0 || i == 1 ? -0.075 : i < 17 ? -0.005 : 0.065) + 0.0007 * (i % 7));
  const std::vector<int> counts = {10, 10};
  const Centre centre = centre_of(ratios, counts);
  EXPECT_EQ(centre.weighing, Weighing::plain);
  EXPECT_NEAR(mean(centre.values), mean(ratios), 1e-12);
  EXPECT_GT(centre.pair_error, 0.01);
}

// Fourteen of twenty on one state look like a clear majority; that few pairs do not make one.
TEST(Centre, MajorityOfFewPairsIsNotEnough) {
  std::vector<double> ratios;
  for (int i = 0; i < 20; ++i) {
    const int turn = i % 10;
    ratios.push_back((turn < 7 ? -0.07 : i < 10 ? 0.0 : -0.14) + 0.0007 * (i % 7));
  }
  const std::vector<int> counts = {10, 10};
  EXPECT_EQ(centre_of(ratios, counts).weighing, Weighing::plain);
  // Ten times as many in the same proportions do.
  std::vector<double> many;
  for (int copy = 0; copy < 10; ++copy)
    for (double r : ratios) many.push_back(r + 0.00001 * copy);
  const std::vector<int> many_counts(20, 10);
  EXPECT_EQ(centre_of(many, many_counts).weighing, Weighing::bounded);
}

TEST(Centre, OffsetsOfPlacementsAreNotOutliers) {
  std::vector<double> offsets = {-0.008, -0.006, -0.005, -0.002, 0,
                                 0.001,  0.004,  0.005,  0.007,  0.009};
  Made made;
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal;
  for (double offset : offsets) {
    made.counts.push_back(10);
    for (int i = 0; i < 10; ++i) made.ratios.push_back(offset + 0.0002 * normal(engine));
  }
  const Centre centre = centre_of(made.ratios, made.counts);
  EXPECT_NEAR(std::sqrt(variance(centre.values)), std::sqrt(variance(offsets)), 0.0008);
}

// A true ratio of 0.4 % seen through steps of 2 %: nearly all pairs stand on zero, and a window
// that settles there would report none of it.
TEST(Centre, TicksOfACoarseClockAreAveraged) {
  const Made made =
      make(20, 0.008, 0.005, [](double r, double) { return 0.02 * std::round(r / 0.02); });
  const Centre centre = centre_of(made.ratios, made.counts);
  EXPECT_EQ(centre.weighing, Weighing::plain);
  EXPECT_NEAR(mean(centre.values), 0.005, 0.0015);
}

// Few placements, each with hardly any noise, far apart: all count alike.
TEST(Centre, FewQuietPlacementsFarApartAllCount) {
  Made made;
  std::mt19937_64 engine(5);
  std::normal_distribution<double> normal;
  const std::vector<double> offsets = {0.01, 0.0101, 0.0102, 0.0099, 0.01, -0.01};
  for (double offset : offsets) {
    made.counts.push_back(10);
    for (int i = 0; i < 10; ++i) made.ratios.push_back(offset + 0.0001 * normal(engine));
  }
  const Centre centre = centre_of(made.ratios, made.counts);
  EXPECT_NEAR(mean(centre.values), mean(offsets), 0.0015);
}

TEST(Centre, EqualValuesHaveNoSpread) {
  const std::vector<double> ratios(20, 0.01);
  const std::vector<int> counts = {10, 10};
  const Centre centre = centre_of(ratios, counts);
  EXPECT_DOUBLE_EQ(centre.values[0], 0.01);
  EXPECT_NEAR(centre.pair_error, 0, 1e-15);
}

} // namespace
} // namespace ako::stats
