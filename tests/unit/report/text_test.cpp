#include "filled_ledger.hpp"
#include "report/markdown.hpp"
#include "report/text/iterations_md.hpp"
#include "report/text/tables.hpp"
#include "report/text/words.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <limits>

namespace ako::report::testing {
namespace {

Data data(Hostile hostile = Hostile::no) {
  auto out = filled(hostile);
  if (!out) ADD_FAILURE() << out.error().text();
  return out.value_or(Data{});
}

void expect_in(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST(Words, NumbersHaveUnitsAndNoNaN) {
  EXPECT_EQ(duration(812.4), "812 ns");
  EXPECT_EQ(duration(1234.5), "1.234 us");
  EXPECT_EQ(duration(4.56e7), "45.6 ms");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(duration(nan), "-");
  EXPECT_EQ(percent(nan), "-");
  EXPECT_EQ(gain(0.031, {0.02, 0.04}), "+3.10 % [+2.00, +4.00]");
  EXPECT_EQ(gain(nan, {0, 0}), "-");
}

TEST(Words, TextFromOutsideCannotActAsMarkup) {
  EXPECT_EQ(html("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
  EXPECT_EQ(md_line("a|b\n<!-- ako:end x --> `c` *d*"),
            "a\\|b &lt;!-- ako:end x --&gt; \\`c\\` \\*d\\*");
  EXPECT_EQ(plain_line("a\x1b[31mred\tb\n"), "a [31mred b");
  EXPECT_EQ(plain_line("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "\xc3\xa4\xe2\x80\xa6");
  EXPECT_EQ(plain_line("\xc3\xa4\xc3\xb6\xc3\xbc", 3), "\xc3\xa4\xc3\xb6\xc3\xbc");
}

TEST(Words, NothingButLineBreaksAndTabsActsOnATerminal) {
  EXPECT_EQ(printable("a\x1b[31mred\x7f"), "a?[31mred?");
  EXPECT_EQ(printable("crlf\r"), "crlf");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m \xe2\x80\xae"),
            "?31m ?"); // C1, and a mark that reorders
  EXPECT_EQ(printable("\xbb stray \xc3\xa4"), "? stray \xc3\xa4");
  EXPECT_EQ(printable("\xe5\x1b[2J \xf0\x9f\x1b[1m \xc3"), "??[2J ???[1m ?"); // begun, not ended
  EXPECT_EQ(plain_line("a\xe5\x1b[2J"), "a [2J");
  EXPECT_EQ(printable("\xe2\x80\x94 \xe2\x80\x9cplain\xe2\x80\x9d"),
            "\xe2\x80\x94 \xe2\x80\x9cplain\xe2\x80\x9d");
}

TEST(Tables, WhatTheProcessorCountedIsShownWhereItWas) {
  EXPECT_EQ(counted_text(base::Json::array()), "");
  EXPECT_EQ(counted_text(base::Json()), "");
  const base::Json counted = {{{"shape", "decode-1"},
                               {"side", "candidate"},
                               {"calls", 40},
                               {"cycles", 16210.0},
                               {"instructions", 40961.5},
                               {"cache_misses", nullptr}}};
  expect_in(counted_text(counted),
            {"nothing is decided by it", "decode-1", "candidate", "4.096e+04", "1.621e+04", "-\n"});
}

TEST(Tables, TheLogShowsOutcomeGainAndDecision) {
  const Data all = data();
  std::vector<ledger::IterationRow> rows;
  ledger::IterationRow row;
  row.number = 5;
  row.outcome = model::OutcomeKind::regressed;
  row.gain = -0.084;
  row.hypothesis = "a long hypothesis that will not fit into the narrow terminal of this test";
  const std::string page = log_page({row}, 5, 100);
  expect_in(page,
            {"regressed", "revert", "-8.40 %", "\xe2\x80\xa6", "4 earlier of 5: ako log --all"});
  EXPECT_EQ(log_page({}, 0), "no iterations on record\n");
  expect_in(show_iteration(all.iterations[5], {}, "c0ffee", "+ added\n"),
            {"iteration 6", "hypothesis", "+14.70 % [+14.00, +15.40]", "vs baseline", "+41.20 %",
             "prefill", "clock host, cache cold-clean", "c0ffee", "+ added",
             "confirmed    by a second opinion"});
  expect_in(show_iteration(all.iterations[1], {}, "", ""), {"incorrect", "worst element 4095"});
  expect_in(status_text(all.standing, all.baseline->payload,
                        {"rmsnorm", "iteration 6 leads", "", "ako try"}),
            {"ako try", "iteration 6 (keep), +41.20 %", "2 improved", "waivers      1", "first"});
}

TEST(Tables, WhatTheJudgeDidNotLookAtIsSaid) {
  Data all = data();
  const base::Json evaluation = {
      {"correctness", {{"unproven", {"edge:M=99: 40 MiB, edges above 32 MiB are not judged"}}}}};
  const std::string said = show_iteration(all.iterations[5], evaluation, "", "");
  expect_in(said, {"unproven     edge:M=99: 40 MiB"});
  EXPECT_EQ(show_iteration(all.iterations[5], base::Json::object(), "", "").find("unproven"),
            std::string::npos);
  all.incumbent_evaluation = evaluation;
  expect_in(report_md(all),
            {"- Not looked at: edge:M=99: 40 MiB, edges above 32 MiB are not judged."});
  EXPECT_TRUE(unproven({{"correctness", {{"unproven", 3}}}}).empty());
}

TEST(Claims, TheBestOfSeveralIsMeasuredAgainOrSaidNotToBe) {
  Data all = data();
  auto made = claim(all);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->tried, 6);
  EXPECT_TRUE(made->fresh);
  expect_in(made->label, {"chosen among 6 tried, measured again after that"});
  expect_in(report_md(all), {"chosen among 6 tried"});
  all.incumbent->payload.versus_baseline = all.incumbent->payload.verdict;
  made = claim(all);
  EXPECT_FALSE(made->fresh);
  expect_in(made->label, {"by the very samples that the figure is from"});
  expect_in(report_md(all),
            {"The gain is from the samples that chose the incumbent among 6 tried"});
  all.incumbent->payload.number = 1; // nobody was chosen
  made = claim(all);
  EXPECT_TRUE(made->fresh);
  EXPECT_EQ(made->label.find("chosen"), std::string::npos);
}

TEST(IterationsMd, HasTheSeedsForm) {
  const Data all = data();
  const auto blocks = iterations_blocks(all);
  ASSERT_EQ(blocks.size(), 3u);
  expect_in(blocks[0].text, {"Device: AMD EPYC 7B13", "M=1 H=4096", "bfloat16", "Warm-up: 20",
                             "iterations: 400", "p50", "p95", "1.84 us", "1.912 us"});
  expect_in(blocks[1].text,
            {"### Iteration 1\n", "- Hypothesis: Eight accumulators",
             "- Change:", "- Result: improved, +31.20 %", "- Decision: keep", "### Iteration 2",
             "- Result: incorrect", "- Waived: references", "> Stall: 3 iterations",
             "- Direction: fewer instructions", "- Against the baseline: +41.20 %"});
  const std::string edition = "Memory on the host | `" + base::sha256("newer").substr(0, 12);
  expect_in(blocks[2].text,
            {"| references/cpu-memory.md |", edition.c_str(), "| references/loop.md | The loop |"});
  EXPECT_EQ(blocks[2].text.find(base::sha256("g").substr(0, 12)), std::string::npos)
      << "an edition that was read before a later one";
  const auto notes = notes_blocks(all);
  ASSERT_EQ(notes.size(), 3u);
  expect_in(notes[0].text, {"## Contract", "name = \"rmsnorm\""});
  expect_in(notes[1].text, {"bound by loads"});
  expect_in(notes[2].text, {"OpenMP over rows", "Iteration 4: Non-temporal"});
}

class Files : public ::testing::Test {
protected:
  void SetUp() override {
    auto dir = base::TemporaryDir::make("ako-texts");
    ASSERT_TRUE(dir);
    m_dir = std::move(*dir);
  }
  Texts paths() const {
    return {m_dir->path() / "ITERATIONS.md", m_dir->path() / "context" / "k_notes.md"};
  }
  std::optional<base::TemporaryDir> m_dir;
};

TEST_F(Files, HostileTextStaysInsideItsBlock) {
  const Data bad = data(Hostile::yes);
  ASSERT_TRUE(write_texts(bad, paths()));
  const std::string first = *base::read_file(paths().iterations),
                    notes = *base::read_file(paths().notes);
  ASSERT_TRUE(write_texts(bad, paths())) << "ako's own text damaged a mark";
  EXPECT_EQ(*base::read_file(paths().iterations), first);
  EXPECT_EQ(*base::read_file(paths().notes), notes);
  EXPECT_EQ(first.find("<script"), std::string::npos);
}

TEST_F(Files, PeoplesTextSurvivesAndDamageStopsTheWriting) {
  const Data all = data();
  ASSERT_TRUE(write_texts(all, paths()));
  std::string text = *base::read_file(paths().iterations);
  const std::string mine = "\nThe profiler showed stalls on loads.\n";
  std::ofstream(paths().iterations, std::ios::app) << mine;
  ASSERT_TRUE(write_texts(all, paths()));
  EXPECT_EQ(*base::read_file(paths().iterations), text + mine);
  const std::string damaged = "<!-- ako:begin iterations -->\nprecious\n";
  std::ofstream(paths().iterations) << damaged;
  const base::Status refused = write_texts(all, paths());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().where.find("ITERATIONS.md:1"), std::string::npos);
  EXPECT_EQ(*base::read_file(paths().iterations), damaged);
}

} // namespace
} // namespace ako::report::testing
