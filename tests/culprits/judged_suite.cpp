#include "judged_suite.hpp"

#include <algorithm>
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
    if (s_score.culprits + s_score.twins + s_score.spoiled == 0) return;
    std::printf("culprits caught %d of %d, honest twins passed %d of %d", s_score.caught,
                s_score.culprits, s_score.passed, s_score.twins);
    if (s_score.spoiled > 0)
      std::printf(" (%d more not measured: the machine was too busy)", s_score.spoiled);
    std::printf("\n");
  }
};
[[maybe_unused]] const auto* s_print = testing::AddGlobalTestEnvironment(new PrintScore);

/// Where it was seen: " at load", " at timed"; how a worker ended: " hung".
std::string phase_of(const model::Evidence& evidence) {
  const auto ended = base::get_or<std::string>(evidence.data, "failure", "");
  if (!ended.empty()) return " " + ended;
  const auto place = base::get_or<base::Json>(evidence.data, "place", base::Json::object());
  const auto phase = base::get_or<std::string>(place, "phase", "");
  return phase.empty() ? "" : " at " + phase;
}

/// "suspect (untimed_work at timed)", with the weak signs where nothing decided.
std::string in_short(const model::Outcome& outcome) {
  std::string guards;
  const bool decided = std::any_of(outcome.evidence.begin(), outcome.evidence.end(),
                                   [](const auto& each) { return each.decisive; });
  for (const auto& each : outcome.evidence)
    if (each.decisive == decided && guards.find(each.guard) == std::string::npos)
      guards += (guards.empty() ? "" : ", ") + each.guard + phase_of(each);
  return model::to_string(outcome.kind) + (guards.empty() ? "" : " (" + guards + ")");
}

void tell(const char* word, const std::string& name, const Culprit& culprit,
          const evaluation::Report& report, double seconds) {
  std::printf("%-7s %-26s %5.1f s  expected %s, came %s: %s\n", word, name.c_str(), seconds,
              culprit.expects.c_str(), in_short(report.verdict.outcome).c_str(),
              report.verdict.outcome.reason.c_str());
  std::fflush(stdout);
}

bool is_honest(const std::string& name, const Culprit& culprit) {
  return name.ends_with(".honest") || culprit.expects == "clean";
}

} // namespace

void expect_as_its_comment_says(const Shelf& shelf, const std::string& name,
                                const loop::Target& target) {
  const auto culprit = read_culprit(path_of(shelf, name));
  const bool honest = is_honest(name, culprit);
  auto& bench = Bench::of(shelf, task_of(name), target);
  const auto started = std::chrono::steady_clock::now();
  const auto report = bench.judge(as_candidate(name, culprit));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  if (spoiled(report)) {
    ++s_score.spoiled;
    tell("spoiled", name, culprit, report, took.count());
    GTEST_SKIP() << "the machine is too busy: " << report.verdict.outcome.reason;
  }
  const std::string wrong = unlike(culprit.expects, report);
  EXPECT_EQ(wrong, "");
  (honest ? s_score.twins : s_score.culprits) += 1;
  (honest ? s_score.passed : s_score.caught) += wrong.empty();
  tell(wrong.empty() ? "ok" : "WRONG", name, culprit, report, took.count());
}

void expect_twins(const Shelf& shelf, int least) {
  int pairs = 0;
  for (const auto& name : all_culprits(shelf)) {
    if (is_honest(name, read_culprit(path_of(shelf, name)))) continue;
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
