#include "report/text/marked.hpp"

#include <gtest/gtest.h>

namespace ako::report::testing {
namespace {

const std::vector<Block> k_blocks = {{"one", "first\n"}, {"two", "second\n"}};

std::string merged(const std::string& existing, const std::vector<Block>& blocks = k_blocks) {
  auto out = merge_blocks(existing, blocks, "# Head\n\n", "F.md");
  if (!out) ADD_FAILURE() << out.error().text();
  return out.value_or("");
}

TEST(Marked, ANewFileHasHeadAndBlocks) {
  EXPECT_EQ(merged(""), "# Head\n\n<!-- ako:begin one -->\nfirst\n<!-- ako:end one -->\n"
                        "<!-- ako:begin two -->\nsecond\n<!-- ako:end two -->\n");
}

TEST(Marked, WritingTwiceChangesNothing) { EXPECT_EQ(merged(merged("")), merged("")); }

TEST(Marked, TextOutsideComesBackByteForByte) {
  const std::string mine =
      "My title\r\n\ttabs and \xff bytes\n<!-- ako:begin one -->\nold\n"
      "<!-- ako:end one -->\nbetween, about ako:begin itself\n"
      "<!-- ako:begin two -->\nold\n<!-- ako:end two -->\nno line break at the end";
  const std::string out = merged(mine);
  EXPECT_EQ(
      out,
      "My title\r\n\ttabs and \xff bytes\n<!-- ako:begin one -->\nfirst\n<!-- ako:end one -->\n"
      "between, about ako:begin itself\n<!-- ako:begin two -->\nsecond\n<!-- ako:end two -->\n"
      "no line break at the end");
}

TEST(Marked, ADeletedBlockComesBackBesideItsNeighbour) {
  EXPECT_EQ(
      merged("a\n<!-- ako:begin one -->\n<!-- ako:end one -->\nb\n"),
      "a\n<!-- ako:begin one -->\nfirst\n<!-- ako:end one -->\n<!-- ako:begin two -->\nsecond\n"
      "<!-- ako:end two -->\nb\n");
  EXPECT_EQ(
      merged("a\n<!-- ako:begin two -->\n<!-- ako:end two -->\nb\n"),
      "a\n<!-- ako:begin one -->\nfirst\n<!-- ako:end one -->\n<!-- ako:begin two -->\nsecond\n"
      "<!-- ako:end two -->\nb\n");
}

TEST(Marked, AFileWithoutBlocksKeepsItsText) {
  EXPECT_EQ(merged("only mine", {{"one", "x\n"}}),
            "only mine\n<!-- ako:begin one -->\nx\n<!-- ako:end one -->\n");
}

TEST(Marked, BlocksMovedByPeopleStayWhereTheyWerePut) {
  const std::string out = merged("<!-- ako:begin two -->\n<!-- ako:end two -->\nmid\n"
                                 "  <!-- ako:begin one -->  \r\n<!-- ako:end one -->\n");
  EXPECT_LT(out.find("second"), out.find("mid"));
  EXPECT_LT(out.find("mid"), out.find("first"));
}

TEST(Marked, AnUnknownBlockIsLeftAlone) {
  const std::string other = "<!-- ako:begin later -->\nof a newer ako\n<!-- ako:end later -->\n";
  EXPECT_NE(merged(other).find("of a newer ako"), std::string::npos);
}

TEST(Marked, DamagedMarksAreNamedByLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"x\n<!-- ako:begin one -->\nmine?\n", "F.md:2"},
      {"<!-- ako:end one -->\n", "F.md:1"},
      {"<!-- ako:begin one -->\n<!-- ako:begin two -->\n<!-- ako:end two -->\n", "F.md:2"},
      {"<!-- ako:begin one -->\n<!-- ako:end two -->\n", "F.md:2"},
      {"<!-- ako:begin one -->\n<!-- ako:end one -->\n<!-- ako:begin one -->\n<!-- ako:end one "
       "-->\n",
       "F.md:3"},
      {"<!-- ako:begin one --\n<!-- ako:end one -->\n", "F.md:1"},
      {"<!-- ako:begin o ne -->\n", "F.md:1"}};
  for (const auto& [text, place] : cases) {
    auto out = merge_blocks(text, k_blocks, "", "F.md");
    ASSERT_FALSE(out) << text;
    EXPECT_EQ(out.error().where, place) << text;
    EXPECT_EQ(out.error().kind, base::ErrorKind::invalid);
  }
}

} // namespace
} // namespace ako::report::testing
