// Answers cut to size, and the rest by pages.
#include "mcp/brief.hpp"

#include <gtest/gtest.h>
#include <random>

namespace ako::mcp {
namespace {

using base::Json;

std::size_t size_of(const Json& json) { return base::dump_json(json).size(); }

Json large_answer() {
  Json rows = Json::array();
  for (int i = 0; i < 200; ++i)
    rows.push_back(
        {{"number", i}, {"hypothesis", std::string(300, static_cast<char>('a' + i % 26))}});
  return {{"exit", 0},
          {"error", nullptr},
          {"data", {{"rows", rows}, {"diff", std::string(50000, 'd')}, {"count", 200}}},
          {"warnings", Json::array({"w"})}};
}

TEST(Brief, WhatFitsIsLeftAlone) {
  const Json small = {{"exit", 0}, {"data", {{"x", "y"}}}};
  const Brief out = brief(small, 4096, {"exit"});
  EXPECT_EQ(out.value, small);
  EXPECT_TRUE(out.cuts.empty());
}

TEST(Brief, CutsToSizeKeepsTypesAndTheNewestRowsAndSaysWhatWasCut) {
  for (const std::size_t bytes : {300u, 1000u, 3000u, 4096u, 20000u}) {
    const Brief out = brief(large_answer(), bytes, {"exit", "error"});
    EXPECT_LE(size_of(out.value), bytes);
    EXPECT_EQ(out.value["exit"], 0);
    ASSERT_FALSE(out.cuts.empty());
  }
  const Brief out = brief(large_answer(), 3000, {"exit", "error"});
  ASSERT_TRUE(out.value["data"]["rows"].is_array());
  EXPECT_EQ(out.value["data"]["rows"].back()["number"], 199);
  EXPECT_TRUE(out.value["data"]["diff"].is_string());
  bool named = false;
  for (const Cut& cut : out.cuts) named |= cut.path == "/data/rows" && cut.of == 200;
  EXPECT_TRUE(named);
}

TEST(Brief, OneHugeMemberIsLeftOutAtLast) {
  Json many = Json::object();
  for (int i = 0; i < 3000; ++i) many["key" + std::to_string(i)] = i;
  const Brief out = brief({{"exit", 0}, {"data", {{"many", many}, {"small", 1}}}}, 1000, {"exit"});
  EXPECT_LE(size_of(out.value), 1000u);
  EXPECT_EQ(out.value["data"]["small"], 1);
}

TEST(Brief, ShortenKeepsCharactersWhole) {
  const std::string text = "aäöü€";
  for (std::size_t bytes = 3; bytes < text.size(); ++bytes) {
    const std::string out = shorten(text, bytes);
    EXPECT_LE(out.size(), bytes);
    EXPECT_EQ(base::dump_json(Json(out)).find("\xef\xbf\xbd"), std::string::npos) << out;
  }
  EXPECT_EQ(shorten(text, text.size()), text);
}

/// All pages of a place, put together.
Json gathered(const Json& whole, const std::string& at, std::size_t bytes) {
  Json out;
  std::int64_t cursor = 0;
  for (int pages = 0; pages < 5000; ++pages) {
    auto part = page(whole, at, cursor, bytes);
    EXPECT_TRUE(part) << part.error().text();
    if (out.is_null()) out = part->value;
    else if (out.is_string()) out = out.get<std::string>() + part->value.get<std::string>();
    else
      for (const auto& [key, member] : part->value.items()) {
        if (out.is_array()) out.push_back(member);
        else out[key] = member;
      }
    EXPECT_TRUE(part->too_large.empty());
    if (part->next == 0) return out;
    EXPECT_GT(part->next, cursor);
    cursor = part->next;
  }
  ADD_FAILURE() << "no end";
  return out;
}

TEST(Pages, PutTogetherAreTheWhole) {
  const Json whole = large_answer();
  for (const std::size_t bytes : {400u, 1000u, 9000u})
    EXPECT_EQ(gathered(whole, "/data/rows", bytes), whole["data"]["rows"]);
  EXPECT_EQ(gathered(whole, "/data/diff", 700), whole["data"]["diff"]);
  const Json odd = {{"text", "Größe \"x\"\n\t\\ € " + std::string(300, '\n')}};
  for (std::size_t bytes = 16; bytes < 60; ++bytes)
    EXPECT_EQ(gathered(odd, "/text", bytes), odd["text"]);
  EXPECT_EQ(gathered(whole, "/data/count", 500), 200);
}

TEST(Pages, WhatFillsAPageAloneIsNamed) {
  auto part = page(large_answer(), "/data", 0, 1000);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->too_large, (std::vector<std::string>{"/data/rows", "/data/diff"}));
  EXPECT_EQ(part->value["count"], 200);
}

TEST(Pages, WrongPlacesAndCursorsAreErrors) {
  for (const char* at : {"/nothing", "data", "/data/rows/999", "/data/rows/x", "/~"})
    EXPECT_FALSE(page(large_answer(), at, 0, 1000)) << at;
  EXPECT_FALSE(page(large_answer(), "/data/rows", 200, 1000));
  EXPECT_FALSE(page(large_answer(), "/data/rows", -1, 1000));
  EXPECT_TRUE(page({{"empty", Json::array()}}, "/empty", 0, 1000));
}

TEST(Kept, HoldsTheLastFewAndNotMore) {
  Kept kept;
  const std::string first = kept.add({{"x", 1}});
  EXPECT_EQ(kept.find(first)->at("x"), 1);
  for (int i = 0; i < 40; ++i) kept.add({{"x", i}});
  EXPECT_EQ(kept.find(first), nullptr);
  EXPECT_NE(kept.names().find("r41"), std::string::npos);
  const std::string large = kept.add({{"x", std::string(20u << 20, 'x')}});
  EXPECT_NE(kept.find(large), nullptr);
  EXPECT_EQ(kept.find("r41"), nullptr);
}

} // namespace
} // namespace ako::mcp
