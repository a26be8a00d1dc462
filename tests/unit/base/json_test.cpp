#include "base/json.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace ako::base {
namespace {

TEST(Json, ErrorsNameLineAndColumn) {
  const auto error = parse_json("{\n  \"a\": [1,}\n}", "some.json");
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().kind, ErrorKind::invalid);
  EXPECT_EQ(error.error().where, "some.json:2:11");
  EXPECT_FALSE(parse_json("", "empty"));
  EXPECT_FALSE(parse_json("1 2", "two values"));
  EXPECT_FALSE(parse_json("1e999", "a number out of range"));
}

TEST(Json, DepthIsBounded) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(200), "deep"));
  const auto deeper = parse_json(nested(201), "deeper");
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().where, "deeper:1:201");
  EXPECT_FALSE(parse_json(std::string(10'000'000, '['), "a bomb"));
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\\\"[\"", "brackets in a string"));
}

TEST(Json, NonFiniteNumbersBecomeNullAndBrokenTextIsMended) {
  Json json;
  json["nan"] = std::numeric_limits<double>::quiet_NaN();
  json["inf"] = number_or_null(std::numeric_limits<double>::infinity());
  json["x"] = number_or_null(1.5);
  json["text"] = "a\xff";
  EXPECT_EQ(dump_json(json), "{\"nan\":null,\"inf\":null,\"x\":1.5,\"text\":\"a\xef\xbf\xbd\"}");
}

TEST(Json, MembersAreTakenByTheirExactKind) {
  const auto json = parse_json(
      R"({"s":"t","i":-3,"u":18446744073709551615,"d":1.5,"b":true,"n":null,"w":2.0})", "x");
  ASSERT_TRUE(json);
  EXPECT_EQ(get<std::string>(*json, "s").value(), "t");
  EXPECT_EQ(get<std::int64_t>(*json, "i").value(), -3);
  EXPECT_EQ(get<std::uint64_t>(*json, "u").value(), 18446744073709551615u);
  EXPECT_EQ(get<double>(*json, "d").value(), 1.5);
  EXPECT_EQ(get<double>(*json, "i").value(), -3.0);
  EXPECT_EQ(get<bool>(*json, "b").value(), true);
  EXPECT_TRUE(get<Json>(*json, "n").value().is_null());
  EXPECT_FALSE(get<std::uint64_t>(*json, "i")) << "negative";
  EXPECT_FALSE(get<std::int64_t>(*json, "u")) << "past 2^63";
  EXPECT_FALSE(get<std::int64_t>(*json, "w")) << "2.0 is no whole number in the grammar";
  EXPECT_FALSE(get<std::int64_t>(*json, "b"));
  EXPECT_FALSE(get<double>(*json, "n"));
  EXPECT_FALSE(get<std::string>(*json, "i"));
  EXPECT_FALSE(get<bool>(*json, "i"));
  EXPECT_FALSE(get<bool>(Json(3), "b")) << "no object at all";
  const auto missing = get<bool>(*json, "zz");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("'zz' is missing"), std::string::npos);
  EXPECT_EQ(get_or<std::int64_t>(*json, "zz", 5), 5);
  EXPECT_EQ(get_or<std::int64_t>(*json, "i", 5), -3);
}

TEST(Json, RandomTextIsParsedOrRefused) {
  std::mt19937 random(7);
  const std::string alphabet = "{}[]\",:0123eE+-.truefalsn\\u \n\xff";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto i = random() % 12; i > 0; --i) text += alphabet[random() % alphabet.size()];
    const auto json = parse_json(text, "fuzz");
    if (!json) continue;
    ++accepted;
    EXPECT_EQ(parse_json(dump_json(*json), "again").value(), *json) << text;
  }
  EXPECT_GT(accepted, 100);
}

} // namespace
} // namespace ako::base
