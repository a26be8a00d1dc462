#include "filled_ledger.hpp"
#include "report/html/chart.hpp"
#include "report/html/page.hpp"
#include "report/markdown.hpp"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace ako::report::testing {
namespace {

std::string page(Hostile hostile) {
  auto data = filled(hostile);
  if (!data) ADD_FAILURE() << data.error().text();
  return data ? report_html(*data) : "";
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Page, SaysWhatWasWonHowAndWhatIsUntested) {
  const std::string text = page(Hostile::no);
  for (const char* part :
       {"+41.20 %", "baseline:first", "Untested and waived",
        "<strong>Waived</strong> gate references", "Rows that are not a multiple of 8",
        "self-timed", "not confirmed inside the target repository", "prefers-color-scheme:dark",
        "width=device-width", "cold-clean", "mean of log ratios", "AMD EPYC 7B13", "Baseline hash",
        "Eight accumulators", "incorrect", "regressed", "<svg", "References read", "viewBox"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  // For looking at it by eye.
  if (const char* path = std::getenv("AKO_WRITE_PAGE")) std::ofstream(path) << text;
}

/// Each timed point has its interval: a bar and two ends that its dot cannot hide.
TEST(Page, TheChartDrawsEveryInterval) {
  auto data = filled(Hostile::no);
  ASSERT_TRUE(data);
  const std::string svg = gain_chart(*data);
  const std::size_t points = count(svg, "<circle");
  EXPECT_EQ(points, 7u) << "five timed steps and two totals";
  EXPECT_EQ(count(svg, "<line x1"), 3 * points);
}

TEST(Page, NeedsNothingElse) {
  const std::string text = page(Hostile::no);
  for (const char* part : {"http://", "https://", "src=", "url(", "@import", "<script", "<link"})
    EXPECT_EQ(text.find(part), std::string::npos) << part;
}

TEST(Page, HostileTextIsShownNotRun) {
  const std::string text = page(Hostile::yes);
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_EQ(text.find("<!-- "), std::string::npos);
  EXPECT_GT(count(text, "&lt;script&gt;"), 10u);
  // Tags balance as on the honest page: nothing from outside opened or closed one.
  const std::string honest = page(Hostile::no);
  for (const char* tag :
       {"<article", "</article>", "<td", "</td>", "<table", "</table>", "<dl>", "<li"})
    EXPECT_EQ(count(text, tag), count(honest, tag)) << tag;
}

TEST(Page, TheMarkdownKeepsItsTables) {
  auto honest = filled(Hostile::no), hostile = filled(Hostile::yes);
  ASSERT_TRUE(honest && hostile);
  const std::string good = report_md(*honest), bad = report_md(*hostile);
  EXPECT_NE(good.find("**+41.20 % [+40.50, +41.90] against baseline:first**"), std::string::npos)
      << good;
  EXPECT_NE(good.find("- **Waived** gate references"), std::string::npos);
  EXPECT_EQ(count(good, "\n"), count(bad, "\n")) << "a line break came through";
  EXPECT_EQ(bad.find("<script"), std::string::npos);
}

TEST(Page, AnEmptyLedgerIsAReportToo) {
  Data none;
  EXPECT_NE(report_html(none).find("No win: the baseline stands"), std::string::npos);
  EXPECT_NE(report_md(none).find("No baseline is on record"), std::string::npos);
  EXPECT_EQ(gain_chart(none), "");
}

TEST(Page, WithoutASecondOpinionTheClaimSaysSo) {
  auto data = filled(Hostile::no);
  ASSERT_TRUE(data);
  data->second_opinion.reset();
  EXPECT_NE(report_html(*data).find("without a second opinion"), std::string::npos);
  EXPECT_NE(report_md(*data).find("The incumbent has no second opinion"), std::string::npos);
}

} // namespace
} // namespace ako::report::testing
