// Schemas, arguments, dialects.
#include "mcp/tool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::mcp {
namespace {

using base::Json;
using testing::HasSubstr;
using testing::Not;

Tool example() {
  Tool out;
  out.name = "log";
  out.title = "Log";
  out.description = "what was tried";
  out.parameters = {{"count", Type::integer, "how many"},
                    {"gain", Type::number, "percent"},
                    {"words", Type::texts, "several"},
                    {"name", Type::text, "which", true},
                    {"all", Type::flag, "every one"}};
  return out;
}

TEST(Tools, SchemasNameTypesAndWhatIsRequired) {
  const Json in = input_schema(example());
  EXPECT_EQ(in["properties"]["count"]["type"], "integer");
  EXPECT_EQ(in["properties"]["words"]["items"]["type"], "string");
  EXPECT_EQ(in["required"], Json::array({"name"}));
  EXPECT_EQ(in["additionalProperties"], false);
  const Json out = output_schema(example());
  EXPECT_EQ(out["type"], "object");
  EXPECT_TRUE(out["properties"]["error"]["properties"].contains("next"));
}

TEST(Tools, ArgumentsAreHeldAgainstThem) {
  const Tool tool = example();
  EXPECT_TRUE(check_arguments(tool, {{"name", "x"}, {"count", 3}, {"gain", 4.5}, {"all", true}}));
  EXPECT_TRUE(check_arguments(tool, {{"name", "x"}, {"gain", 4}, {"words", {"a", "b"}}}));
  const auto why = [&](const Json& arguments) {
    auto status = check_arguments(tool, arguments);
    return status ? std::string() : status.error().text();
  };
  EXPECT_THAT(why(Json::object()), HasSubstr("missing"));
  EXPECT_THAT(why({{"name", 3}}), HasSubstr("a text"));
  EXPECT_THAT(why({{"name", "x"}, {"count", 1.5}}), HasSubstr("a whole number"));
  EXPECT_THAT(why({{"name", "x"}, {"cuont", 1}}), HasSubstr("did you mean 'count'"));
  EXPECT_THAT(why({{"name", "x"}, {"words", {1, 2}}}), HasSubstr("a list of texts"));
  EXPECT_THAT(why(Json::array()), HasSubstr("named"));
}

TEST(Tools, AWordIsOneOfThoseThatAreAllowed) {
  Tool tool = example();
  tool.parameters.push_back({"detail", Type::text, "how much", false, {"brief", "full"}});
  EXPECT_EQ(input_schema(tool)["properties"]["detail"]["enum"], Json::array({"brief", "full"}));
  EXPECT_FALSE(input_schema(tool)["properties"]["name"].contains("enum"));
  EXPECT_TRUE(check_arguments(tool, {{"name", "anything"}, {"detail", "full"}}));
  const auto status = check_arguments(tool, {{"name", "x"}, {"detail", "fulll"}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().found, "fulll");
  EXPECT_EQ(status.error().allowed, "brief, full");
  EXPECT_THAT(status.error().next, HasSubstr("'full'"));
}

TEST(Tools, WhatOverwritesIsCalledDestructive) {
  const auto hints = [](Effect effect, bool network) {
    Tool tool = example();
    tool.effect = effect, tool.network = network;
    return describe(tool, dialect("2025-06-18"))["annotations"];
  };
  EXPECT_EQ(hints(Effect::reads, false)["destructiveHint"], false);
  EXPECT_EQ(hints(Effect::records, false)["destructiveHint"], false);
  EXPECT_EQ(hints(Effect::records, false)["readOnlyHint"], false);
  EXPECT_EQ(hints(Effect::writes, false)["destructiveHint"], true);
  EXPECT_EQ(hints(Effect::writes, true)["openWorldHint"], true);
  EXPECT_EQ(hints(Effect::writes, false)["openWorldHint"], false);
}

TEST(Dialects, DifferInWhatTheyKnow) {
  const Json old = describe(example(), dialect("2024-11-05"));
  EXPECT_FALSE(old.contains("outputSchema"));
  EXPECT_FALSE(old.contains("annotations"));
  const Json now = describe(example(), dialect("2025-06-18"));
  EXPECT_TRUE(now.contains("outputSchema"));
  EXPECT_EQ(now["annotations"]["readOnlyHint"], true);
  EXPECT_EQ(dialect("2031-01-01").version, "2025-11-25");
  EXPECT_TRUE(dialect("2025-03-26").batches);
  EXPECT_FALSE(dialect("2025-06-18").batches);
  // It is not agreed on by a greeting.
  EXPECT_EQ(dialect(enveloped_dialect().version).version, "2025-11-25");
  EXPECT_THAT(known_versions(), Not(HasSubstr(enveloped_dialect().version)));
  EXPECT_TRUE(enveloped_dialect().enveloped && enveloped_dialect().structured);
}

} // namespace
} // namespace ako::mcp
