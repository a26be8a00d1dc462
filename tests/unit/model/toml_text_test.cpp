// Texts that a TOML parser must not be given, each beside a lawful twin.
#include "model/toml_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::model {
namespace {

struct Case {
  const char* name;
  std::string bad, where, message, found;
  std::string good;
};

const std::vector<Case>& toml_cases() {
  static const std::vector<Case> all = {
      {"byte", "a = 1\nb = \"x\xFF\"", "f:2:7", "this is not UTF-8", "byte 0xFF",
       "a = 1\nb = \"x\xC3\xBF\""},
      {"overlong", "a = '\xC0\xAF'", "f:1:6", "this is not UTF-8", "byte 0xC0", "a = '/'"},
      {"surrogate", "a = '\xED\xA0\x80'", "f:1:6", "this is not UTF-8", "byte 0xED",
       "a = '\xED\x9F\xBF'"},
      {"cut_off", "a = '\xE2\x82", "f:1:6", "this is not UTF-8", "byte 0xE2", "a = '\xE2\x82\xAC'"},
      {"control", "a = \"\x01\"", "f:1:6", "a control character", "U+0001", "a = \"\\u0001\""},
      {"delete_in_comment", "# \x7F\na = 1", "f:1:3", "a control character", "U+007F",
       "# \xC3\xA9\na = 1"},
      {"lone_return", "a = 1\rb = 2", "f:1:6", "a control character", "U+000D", "a = 1\r\nb = 2"},
      {"escape", "a = \"C:\\path\"", "f:1:8", "an unknown escape", "\\p", "a = 'C:\\path'"},
      {"escape_of_a_letter", "a = \"\\\xC3\xA9\"", "f:1:6", "an unknown escape", "\\\xC3\xA9",
       "a = \"\\\\\xC3\xA9\""},
      {"joined_line", "a = \"x \\\n y\"", "f:1:8", "an unknown escape", "\\",
       "a = \"\"\"x \\ \n \xC3\xA9\"\"\""},
      {"digits", "a = \"\\u12G4\"", "f:1:6", "an escape without its digits", "\\u12",
       "a = \"\\u12F4\""},
      {"no_character", "a = \"\\uD800\"", "f:1:6", "an escape that names no character", "\\uD800",
       "a = \"\\uD7FF\""},
      {"beyond", "a = \"\\U00110000\"", "f:1:6", "an escape that names no character", "\\U00110000",
       "a = \"\\U0010FFFF\""},
      {"bare_letter",
       "gr\xC3\xB6\xC3\x9F"
       "e = 1",
       "f:1:3", "a character that may stand inside quotes only", "\xC3\xB6",
       "\"gr\xC3\xB6\xC3\x9F"
       "e\" = 1"},
      {"behind_a_value", "a = 'x' \xC2\xA0", "f:1:9",
       "a character that may stand inside quotes only", "\xC2\xA0", "a = 'x' # \xC2\xA0"},
      {"behind_quotes_of_the_text", "a = \"\"\"x\"\"\"\"\" \xC3\xA9", "f:1:15",
       "a character that may stand inside quotes only", "\xC3\xA9",
       "a = \"\"\"x\"\"\"\"\" # \xC3\xA9"}};
  return all;
}

class TomlText : public testing::TestWithParam<Case> {};

TEST_P(TomlText, RefusedWithItsPlaceAndTheTwinPasses) {
  const auto bad = read_toml(GetParam().bad, "f");
  ASSERT_FALSE(bad) << "accepted";
  EXPECT_EQ(bad.error().where, GetParam().where);
  EXPECT_EQ(bad.error().message, GetParam().message);
  EXPECT_EQ(bad.error().found, GetParam().found);
  EXPECT_FALSE(bad.error().allowed.empty());
  EXPECT_FALSE(bad.error().next.empty());
  const auto good = read_toml(GetParam().good, "f");
  EXPECT_TRUE(good) << good.error().text();
}

INSTANTIATE_TEST_SUITE_P(Rules, TomlText, testing::ValuesIn(toml_cases()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(TomlTextTwin, AnUnclosedStringIsTheParsersToName) {
  const auto open = read_toml("a = \"x\nb = \"\\q\"", "f");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().message, "this is not TOML");
  EXPECT_THAT(open.error().where, testing::StartsWith("f:1:"));
}

TEST(TomlTextTwin, AByteOrderMarkAndEveryKindOfString) {
  const auto read = read_toml("\xEF\xBB\xBF"
                              "a = \"\\\"#\" # it's\nb = '''it's \\q'''\nc = ['#', \"'\"]\n"
                              "d = \"\"\"say \"\"hm\"\" \\\\\"\"\"\n",
                              "f");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->find("a")->text, "\"#");
  EXPECT_EQ(read->find("b")->text, "it's \\q");
  EXPECT_EQ(read->find("d")->text, "say \"\"hm\"\" \\");
}

} // namespace
} // namespace ako::model
