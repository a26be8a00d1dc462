// Every file below cpu/ through the whole judge: built by the lane, evaluated by real processes,
// its outcome compared with its first comment. Prints the score.
#include "judged_suite.hpp"

#include <algorithm>
#include <set>

namespace ako::culprits {
namespace {

/// Whether a file hangs on no measurement; those of the raw protocol are in contained_test.cpp too.
bool needs_no_quiet(const std::string& name) {
  return name.find('/') != std::string::npos &&
         decided_unmeasured(read_culprit(path_of(cpu_shelf(), name)).expects);
}

/// Undefined behaviour may end in any way: that nobody else is harmed is contained_test.cpp's.
bool may_end_anyhow(const std::string& name) {
  return read_culprit(path_of(cpu_shelf(), name)).expects == "any";
}

/// A sanitizer's allocator has no heap of that name to be looked through.
bool has_no_heap([[maybe_unused]] const std::string& name) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return read_culprit(path_of(cpu_shelf(), name)).source.find("[heap]") != std::string::npos;
#else
  return false;
#endif
}

std::vector<std::string> chosen(bool without_quiet) {
  auto names = all_culprits(cpu_shelf());
  std::erase_if(names, [&](const std::string& name) {
    return may_end_anyhow(name) || has_no_heap(name) || needs_no_quiet(name) != without_quiet;
  });
  return names;
}

class Judged : public testing::TestWithParam<std::string> {};

TEST_P(Judged, EndsAsItsFirstCommentSays) {
  expect_as_its_comment_says(cpu_shelf(), GetParam(), loop::Target{});
}

/// Tells apart on a busy machine as well: runs with every other test.
INSTANTIATE_TEST_SUITE_P(Decided, Judged, testing::ValuesIn(chosen(true)), case_name);
INSTANTIATE_TEST_SUITE_P(Measured, Judged, testing::ValuesIn(chosen(false)), case_name);

Bench& chain() { return Bench::of(cpu_shelf(), "chain", loop::Target{}); }

std::string source_of(const std::string& name) {
  return read_culprit(path_of(cpu_shelf(), name)).source;
}

TEST(Runner, WhatWasLoadedIsWhatWasBuiltOrStale) {
  auto sides = chain().sides(source_of("chain/loud_words.honest"));
  sides.candidate.spec.library_path = sides.incumbent.spec.library_path; // a file of before
  EXPECT_EQ(unlike("stale (stale)", chain().judge(sides)), "");
  sides.candidate.spec = sides.incumbent.spec; // and its hash as well
  EXPECT_EQ(unlike("stale (loaded_hash)", chain().judge(sides)), "");
}

TEST(Runner, SidesThatWereSwappedAreStale) {
  auto sides = chain().sides(source_of("chain/known_sizes.honest"));
  std::swap(sides.candidate.spec, sides.incumbent.spec);
  EXPECT_EQ(unlike("stale (loaded_hash)", chain().judge(sides)), "");
}

TEST(Culprits, EveryTrickOfTheWholeJudgeHasATwin) { expect_twins(cpu_shelf(), 40); }

/// What nobody reported: a guard that only knows the known tricks knows too little.
TEST(Culprits, TwentyAtLeastWereThoughtOfHere) {
  const auto readme = base::read_file(AKO_SOURCE_DIR "/tests/culprits/README.md").value();
  const auto from = readme.find("## Thought of here"), to = readme.find("\n## ", from + 1);
  ASSERT_NE(from, std::string::npos);
  const auto all = all_culprits(cpu_shelf());
  std::set<std::string> named;
  bool inside = false;
  for (std::size_t at = from, begin = 0; at < to; ++at) {
    if (readme[at] != '`') continue;
    if (inside) {
      const std::string name = readme.substr(begin, at - begin);
      EXPECT_TRUE(named.insert(name).second) << name << " stands there twice";
      EXPECT_NE(std::find(all.begin(), all.end(), name), all.end()) << name << " is no file";
      EXPECT_NE(std::find(all.begin(), all.end(), name + ".honest"), all.end()) << name;
    }
    inside = !inside;
    begin = at + 1;
  }
  EXPECT_GE(named.size(), 20u);
}

/// What can decide on the host. A worker that is not to start processes leaves none behind, and one
/// that reports another number of calls than were ordered has broken the protocol.
TEST(Culprits, EveryGuardHasAFileThatItCatches) {
  std::string all;
  for (const auto& name : all_culprits(cpu_shelf()))
    all += read_culprit(path_of(cpu_shelf(), name)).expects + "\n";
  for (const char* guard : {"unwritten_elements",
                            "gap_damage",
                            "red_zone",
                            "compare",
                            "wrong_later",
                            "stability",
                            "precision",
                            "library_call",
                            "merged_calls",
                            "untimed_work",
                            "eviction_skipped",
                            "not_cold",
                            "process_state",
                            "time_claim",
                            "below_floor",
                            "beyond_wall",
                            "interposed",
                            "forbidden_call",
                            "input_changed",
                            "violation",
                            "hung",
                            "exited",
                            "crashed",
                            "disk_filled",
                            "too_many_threads",
                            "output_flood"})
    EXPECT_NE(all.find(guard), std::string::npos) << guard;
}

TEST(Culprits, WhatIsExpectedIsToldFromWhatIsNot) {
  evaluation::Report report;
  auto& outcome = report.verdict.outcome;
  outcome.kind = model::OutcomeKind::improved;
  report.verdict.interval = {0.25, 0.35};
  EXPECT_EQ(unlike("clean", report), "");
  EXPECT_EQ(unlike("improved", report), "");
  EXPECT_EQ(unlike("gain below 40 %", report), "");
  EXPECT_NE(unlike("gain below 30 %", report), "") << "it may be more";
  EXPECT_NE(unlike("gain below 40 % (stray_threads)", report), "") << "no such sign";
  for (const char* word :
       {"incorrect", "suspect", "not improved", "stray_work", "crashed or timeout"})
    EXPECT_NE(unlike(word, report), "") << word;
  outcome.kind = model::OutcomeKind::incorrect;
  EXPECT_EQ(unlike("suspect or incorrect", report), "");
  EXPECT_NE(unlike("incorrect, second", report), "");
  outcome.evidence = {{"compare", "", {}, true},
                      {"stray_threads", "", {}, false},
                      {"worker_ended", "", {{"failure", "hung"}}, true}};
  EXPECT_EQ(unlike("incorrect (compare)", report), "");
  EXPECT_EQ(unlike("incorrect (hung)", report), "");
  EXPECT_NE(unlike("incorrect (stray_threads)", report), "") << "a weak sign decides nothing";
  EXPECT_NE(unlike("incorrect (red_zone) or suspect (compare)", report), "");
  EXPECT_NE(unlike("clean", report), "");
  EXPECT_NE(unlike("gain below 40 %", report), "") << "wrong is more than slow";
  EXPECT_NE(unlike("not improved", report), "") << "wrong is more than not improved";
}

TEST(Culprits, AMeasurementThatTheMachineSpoiledShowsNothing) {
  evaluation::Report report;
  report.verdict.outcome.kind = model::OutcomeKind::invalid_measurement;
  EXPECT_TRUE(spoiled(report));
  for (const char* word : {"clean", "not improved", "gain below 40 %", "invalid_measurement",
                           "improved", "incorrect or not improved"})
    EXPECT_NE(unlike(word, report), "") << word;
  report.verdict.outcome.evidence = {{"below_floor", "", {}, true}};
  EXPECT_FALSE(spoiled(report)) << "a guard decided";
  EXPECT_EQ(unlike("invalid_measurement (below_floor)", report), "");
  EXPECT_NE(unlike("invalid_measurement (beyond_wall)", report), "");
  EXPECT_NE(unlike("clean", report), "");
}

TEST(Culprits, WhatHangsOnAMeasurementIsToldFromWhatDoesNot) {
  for (const char* word : {"incorrect (compare)", "suspect (merged_calls) or crashed (crashed)",
                           "unwritten", "hung", "forbidden_call"})
    EXPECT_TRUE(decided_unmeasured(word)) << word;
  for (const char* word :
       {"clean", "improved", "gain below 20 %", "incorrect (compare) or gain below 60 %",
        "incorrect (compare), second", "suspect (untimed_work)", "incorrect (wrong_later)",
        "invalid_measurement (below_floor)", "stray_work", "interposed"})
    EXPECT_FALSE(decided_unmeasured(word)) << word;
}

/// Whoever slows down once it stands makes a step of those that come after; the claim is against
/// the baseline.
TEST(Runner, AnIncumbentThatSlowsItselfGivesAStepAndNoClaim) {
  const std::string honest = source_of("chain/loud_words.honest");
  std::string slow = honest;
  const std::string call = "  replay_cached_answer(x, w, y, n);";
  ASSERT_NE(slow.find(call), std::string::npos);
  slow.insert(slow.find(call), "  static int calls = 0;\n"
                               "  for (int i = 0; calls++ > 0 && i < 20; ++i) {\n"
                               "    replay_cached_answer(x, w, y, n);\n"
                               "    asm volatile(\"\" : : : \"memory\");\n  }\n");
  auto sides = chain().sides(honest);
  sides.incumbent = chain().sides(slow).candidate;
  const auto step = chain().judge(sides), claim = chain().judge(honest);
  if (spoiled(step) || spoiled(claim)) GTEST_SKIP() << "the machine is too busy";
  EXPECT_GT(step.verdict.interval.low, 0.6) << step.verdict.outcome.reason;
  EXPECT_LT(claim.verdict.interval.high, 0.6) << claim.verdict.outcome.reason;
}

} // namespace
} // namespace ako::culprits
