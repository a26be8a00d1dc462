// Lines from bytes, however they arrive.
#include "mcp/lines.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace ako::mcp {
namespace {

std::vector<std::string> lines_of(const std::string& text, std::size_t step, std::size_t most) {
  LineReader reader(most);
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size(); at += step) {
    reader.feed(std::string_view(text).substr(at, step));
    while (auto line = reader.next()) out.push_back(line->too_long ? "<too long>" : line->text);
  }
  return out;
}

TEST(Lines, AreTheSameInAnyPieces) {
  const std::string text = "one\r\n\ntwo words\nrest";
  const std::vector<std::string> wanted = {"one", "", "two words"};
  for (std::size_t step = 1; step <= text.size(); ++step)
    EXPECT_EQ(lines_of(text, step, 100), wanted) << step;
}

TEST(Lines, ThatAreTooLongAreDroppedAndTheNextOneIsWhole) {
  for (std::size_t step : {1, 3, 7, 100})
    EXPECT_EQ(lines_of("12345\n123456\nok\n", step, 5),
              (std::vector<std::string>{"12345", "<too long>", "ok"}));
}

TEST(Lines, WhatHasNoLineBreakIsTheRest) {
  LineReader reader(4);
  reader.feed("a\nbc");
  EXPECT_EQ(reader.rest(), "bc");
  reader = LineReader(4);
  reader.feed("much too long");
  EXPECT_EQ(reader.rest(), "");
}

} // namespace
} // namespace ako::mcp
