// Every file below cpu/ through the whole judge: built by the lane, evaluated by real processes,
// its outcome compared with its first comment. Prints the score.
#include "judged_bench.hpp"

#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>

namespace ako::culprits {
namespace {

struct Score {
  int caught = 0, culprits = 0, passed = 0, twins = 0, spoiled = 0;
};
Score s_score;

class PrintScore : public testing::Environment {
public:
  void TearDown() override {
    std::printf("culprits caught %d of %d, honest twins passed %d of %d", s_score.caught,
                s_score.culprits, s_score.passed, s_score.twins);
    if (s_score.spoiled > 0)
      std::printf(" (%d judged in full, their measurement spoiled by the machine)",
                  s_score.spoiled);
    std::printf("\n");
  }
};
[[maybe_unused]] const auto* s_print = testing::AddGlobalTestEnvironment(new PrintScore);

class Judged : public testing::TestWithParam<std::string> {};

TEST_P(Judged, EndsAsItsFirstCommentSays) {
  const auto culprit = read_culprit(path_of(GetParam()));
  const bool honest = culprit.expects == "clean";
  (honest ? s_score.twins : s_score.culprits) += 1;
  const auto slash = GetParam().find('/');
  auto& bench = Bench::of(slash == std::string::npos ? "flat" : GetParam().substr(0, slash));
  const auto report = bench.judge(as_candidate(GetParam(), culprit), culprit.expects);
  const std::string wrong = unlike(culprit.expects, report);
  EXPECT_EQ(wrong, "");
  (honest ? s_score.passed : s_score.caught) += wrong.empty();
  s_score.spoiled += report.verdict.outcome.kind == model::OutcomeKind::invalid_measurement;
}

INSTANTIATE_TEST_SUITE_P(Cpu, Judged, testing::ValuesIn(all_culprits()),
                         [](const testing::TestParamInfo<std::string>& given) {
                           auto name = given.param;
                           for (char& c : name)
                             if (c == '.' || c == '/') c = '_';
                           return name;
                         });

TEST(Culprits, EveryTrickOfTheWholeJudgeHasATwin) {
  int pairs = 0;
  for (const auto& name : all_culprits()) {
    if (name.ends_with(".honest") || read_culprit(path_of(name)).expects == "clean") continue;
    EXPECT_TRUE(base::fs::exists(path_of(name + ".honest"))) << name;
    ++pairs;
  }
  EXPECT_GE(pairs, 40);
}

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
