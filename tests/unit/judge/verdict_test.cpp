// From correctness and numbers to one outcome and its sentence.
#include "judge/verdict.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace {

using namespace ako;
using judge::TimeDecision;
using model::OutcomeKind;

judge::VerdictInput win() {
  judge::VerdictInput input;
  input.time = TimeDecision::faster;
  input.min_gain = 0.02;
  input.max_regression = 0.02;
  input.alpha = 0.001;
  input.second_opinion_agrees = true;
  input.numbers.gain = 0.05;
  input.numbers.interval = {0.04, 0.06};
  input.numbers.placements = 12;
  input.numbers.pairs = 120;
  model::ShapeVerdict shape;
  shape.tag = "M=1";
  shape.old_ns = 1000;
  shape.new_ns = 950;
  shape.gain = 0.05;
  input.numbers.shapes = {shape};
  return input;
}

OutcomeKind kind_of_outcome(const judge::VerdictInput& input) {
  return judge::conclude(input).outcome.kind;
}

TEST(Verdict, AWinCarriesItsNumbersAndThreshold) {
  const auto verdict = judge::conclude(win());
  EXPECT_EQ(verdict.outcome.kind, OutcomeKind::improved);
  for (const char* part :
       {"5.00 %", "4.00 %", "6.00 %", "2.00 %", "12 placements", "alpha 0.10 %"}) {
    EXPECT_NE(verdict.outcome.reason.find(part), std::string::npos)
        << part << " in " << verdict.outcome.reason;
  }
  EXPECT_EQ(verdict.gain, 0.05);
}

TEST(Verdict, AnOpenEndOfTheIntervalIsNoFaultOfTheMachine) {
  // Two placements that lie far apart bound the sum from one side; a shape's loss stands all the
  // same.
  auto input = win();
  input.time = TimeDecision::slower;
  input.numbers.gain = -1.2;
  input.numbers.interval = {-std::numeric_limits<double>::infinity(), 0.4};
  input.numbers.shapes[0].gain = -1.3;
  input.numbers.shapes[0].within_regression = false;
  const auto verdict = judge::conclude(input);
  EXPECT_EQ(verdict.outcome.kind, OutcomeKind::regressed);
  EXPECT_NE(verdict.outcome.reason.find("[open, 40.00 %]"), std::string::npos)
      << verdict.outcome.reason;
  input.numbers.interval.low = -3e99; // of two placements' spread: a number, and no bound
  EXPECT_NE(judge::conclude(input).outcome.reason.find("[open, 40.00 %]"), std::string::npos);
  input.numbers.interval.low = std::nan("");
  EXPECT_EQ(kind_of_outcome(input), OutcomeKind::invalid_measurement);
}

TEST(Verdict, NoWinWithoutSecondOpinionOrBelowTheMinimumOrWithALosingShape) {
  auto input = win();
  input.second_opinion_agrees = false;
  EXPECT_EQ(kind_of_outcome(input), OutcomeKind::undecided);
  EXPECT_NE(judge::conclude(input).outcome.reason.find("second opinion"), std::string::npos);
  input.second_opinion_required = false;
  EXPECT_EQ(kind_of_outcome(input), OutcomeKind::improved);
  input = win();
  input.numbers.interval.low = 0.019; // the centre alone lies above the minimum of 0.02
  EXPECT_EQ(kind_of_outcome(input), OutcomeKind::undecided);
  EXPECT_NE(judge::conclude(input).outcome.reason.find("not above the minimum"), std::string::npos);
  input = win();
  input.numbers.shapes[0].within_regression = false;
  EXPECT_NE(kind_of_outcome(input), OutcomeKind::improved);
}

TEST(Verdict, CorrectFirst) {
  auto input = win();
  input.evidence = {{"compare", "wrong at [0]", {}, true}};
  const auto verdict = judge::conclude(input);
  EXPECT_EQ(verdict.outcome.kind, OutcomeKind::incorrect);
  EXPECT_EQ(verdict.outcome.reason, "wrong at [0]");
  input.evidence[0].decisive = false; // a weak sign stays on record and does not decide
  EXPECT_EQ(kind_of_outcome(input), OutcomeKind::improved);
  EXPECT_EQ(judge::conclude(input).outcome.evidence.size(), 1u);
}

TEST(Verdict, TimesThatAreNoTimesAreInvalid) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    auto input = win();
    input.numbers.shapes[0].new_ns = bad;
    EXPECT_EQ(kind_of_outcome(input), OutcomeKind::invalid_measurement) << bad;
  }
  auto input = win();
  input.numbers.gain = std::nan("");
  EXPECT_EQ(kind_of_outcome(input), OutcomeKind::invalid_measurement);
  input = win();
  input.time = TimeDecision::disturbed;
  input.disturbed_reason = "foreign load in 9 of 10 blocks";
  EXPECT_EQ(judge::conclude(input).outcome.reason, "foreign load in 9 of 10 blocks");
  EXPECT_EQ(kind_of_outcome(input), OutcomeKind::invalid_measurement);
}

TEST(Verdict, TheOtherEndings) {
  auto input = win();
  input.time = TimeDecision::equivalent;
  EXPECT_EQ(kind_of_outcome(input), OutcomeKind::equivalent);
  input.time = TimeDecision::slower;
  input.numbers.gain = -0.1;
  input.numbers.shapes[0].gain = -0.1;
  input.numbers.shapes[0].within_regression = false;
  EXPECT_EQ(kind_of_outcome(input), OutcomeKind::regressed);
  EXPECT_NE(judge::conclude(input).outcome.reason.find("M=1 loses 10.00 %"), std::string::npos);
  input.time = TimeDecision::undecided;
  input.numbers.more_needed = "about 40 placements";
  EXPECT_NE(judge::conclude(input).outcome.reason.find("about 40 placements"), std::string::npos);
}

TEST(Verdict, ALowerPrecisionIsNoWinUnlessItIsWanted) {
  auto input = win();
  judge::Precision precision;
  precision.kind = judge::PrecisionClass::lower;
  input.precision = precision;
  const auto outcome = judge::conclude(input).outcome;
  EXPECT_EQ(outcome.kind, OutcomeKind::undecided);
  EXPECT_NE(outcome.reason.find("tolerance.ratio_to_baseline"), std::string::npos);
  input.lower_precision_wanted = true;
  EXPECT_EQ(kind_of_outcome(input), OutcomeKind::improved);
  input.lower_precision_wanted = false;
  for (const auto kind : {judge::PrecisionClass::same, judge::PrecisionClass::better,
                          judge::PrecisionClass::unknown}) {
    input.precision->kind = kind;
    EXPECT_EQ(kind_of_outcome(input), OutcomeKind::improved);
  }
}

TEST(Verdict, ALowerPrecisionIsSaid) {
  auto input = win();
  judge::Precision precision;
  precision.kind = judge::PrecisionClass::lower;
  precision.reason = "error 300 times";
  input.precision = precision;
  EXPECT_NE(judge::conclude(input).outcome.reason.find("precision changed: error 300 times"),
            std::string::npos);
  precision.kind = judge::PrecisionClass::same;
  input.precision = precision;
  EXPECT_EQ(judge::conclude(input).outcome.reason.find("precision changed"), std::string::npos);
}

} // namespace
