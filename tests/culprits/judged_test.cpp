// Every file below cpu/ through the whole judge: built by the lane, evaluated by real processes,
// its outcome compared with its first comment. Prints the score.
#include "judged_suite.hpp"

namespace ako::culprits {
namespace {

class Judged : public testing::TestWithParam<std::string> {};

TEST_P(Judged, EndsAsItsFirstCommentSays) {
  expect_as_its_comment_says(cpu_shelf(), GetParam(), loop::Target{}, Telling::wrong_ones);
}

INSTANTIATE_TEST_SUITE_P(Cpu, Judged, testing::ValuesIn(all_culprits(cpu_shelf())), case_name);

TEST(Culprits, EveryTrickOfTheWholeJudgeHasATwin) { expect_twins(cpu_shelf(), 40); }

TEST(Culprits, WhatIsExpectedIsToldFromWhatIsNot) {
  evaluation::Report report;
  report.verdict.outcome.kind = model::OutcomeKind::improved;
  EXPECT_EQ(unlike("clean", report), "");
  for (const char* word :
       {"incorrect", "suspect", "not improved", "stray_work", "crashed or timeout"})
    EXPECT_NE(unlike(word, report), "") << word;
  report.verdict.outcome.kind = model::OutcomeKind::incorrect;
  EXPECT_EQ(unlike("suspect or incorrect", report), "");
  EXPECT_NE(unlike("incorrect, second", report), "");
  EXPECT_NE(unlike("clean", report), "");
  EXPECT_NE(unlike("not improved", report), "") << "wrong is more than not improved";
}

} // namespace
} // namespace ako::culprits
