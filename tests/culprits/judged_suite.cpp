#include "judged_suite.hpp"

#include <chrono>
#include <cstdio>

namespace ako::culprits {
namespace {

struct Score {
  int caught = 0, culprits = 0, passed = 0, twins = 0, spoiled = 0;
};
Score s_score;

class PrintScore : public testing::Environment {
public:
  void TearDown() override {
    if (s_score.culprits + s_score.twins == 0) return;
    std::printf("culprits caught %d of %d, honest twins passed %d of %d", s_score.caught,
                s_score.culprits, s_score.passed, s_score.twins);
    if (s_score.spoiled > 0)
      std::printf(" (%d judged in full, their measurement spoiled by the machine)",
                  s_score.spoiled);
    std::printf("\n");
  }
};
[[maybe_unused]] const auto* s_print = testing::AddGlobalTestEnvironment(new PrintScore);

void tell(const std::string& name, const Culprit& culprit, const evaluation::Report& report,
          bool as_expected, double seconds) {
  const auto& outcome = report.verdict.outcome;
  std::printf("%s %-26s %5.1f s  expected %s, came %s: %s\n", as_expected ? "ok   " : "WRONG",
              name.c_str(), seconds, culprit.expects.c_str(), model::to_string(outcome.kind),
              outcome.reason.c_str());
  std::fflush(stdout);
}

} // namespace

void expect_as_its_comment_says(const Shelf& shelf, const std::string& name,
                                const loop::Target& target, Telling telling) {
  const auto culprit = read_culprit(path_of(shelf, name));
  const bool honest = name.ends_with(".honest") || culprit.expects == "clean";
  (honest ? s_score.twins : s_score.culprits) += 1;
  auto& bench = Bench::of(shelf, task_of(name), target);
  const auto started = std::chrono::steady_clock::now();
  const auto report = bench.judge(as_candidate(name, culprit), culprit.expects);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  const std::string wrong = unlike(culprit.expects, report);
  EXPECT_EQ(wrong, "");
  (honest ? s_score.passed : s_score.caught) += wrong.empty();
  s_score.spoiled += report.verdict.outcome.kind == model::OutcomeKind::invalid_measurement;
  if (telling == Telling::every_one) tell(name, culprit, report, wrong.empty(), took.count());
}

void expect_twins(const Shelf& shelf, int least) {
  int pairs = 0;
  for (const auto& name : all_culprits(shelf)) {
    if (name.ends_with(".honest") || read_culprit(path_of(shelf, name)).expects == "clean")
      continue;
    EXPECT_TRUE(base::fs::exists(path_of(shelf, name + ".honest"))) << name;
    ++pairs;
  }
  EXPECT_GE(pairs, least);
}

std::string case_name(const testing::TestParamInfo<std::string>& given) {
  auto name = given.param;
  for (char& c : name)
    if (c == '.' || c == '/') c = '_';
  return name;
}

} // namespace ako::culprits
