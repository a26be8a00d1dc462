// What is a message, what is none, and that nothing at all breaks the reader.
#include "mcp/message.hpp"

#include <gtest/gtest.h>
#include <random>

namespace ako::mcp {
namespace {

using base::Json;

TEST(Messages, AreRequestsNotificationsOrResponses) {
  const auto request = parse_line(R"({"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}})");
  ASSERT_EQ(request.messages.size(), 1u);
  EXPECT_EQ(request.messages[0].kind, Message::Kind::request);
  EXPECT_EQ(request.messages[0].params["x"], 1);
  EXPECT_EQ(parse_line(R"({"jsonrpc":"2.0","method":"m"})").messages[0].kind,
            Message::Kind::notification);
  EXPECT_EQ(parse_line(R"({"jsonrpc":"2.0","id":1,"result":{}})").messages[0].kind,
            Message::Kind::response);
}

TEST(Messages, ThatAreNoneSayWhyAndKeepTheIdWhereThereIsOne) {
  const auto first = [](const char* line) { return parse_line(line).messages.at(0); };
  EXPECT_EQ(first("{").error.code, k_parse_error);
  EXPECT_EQ(first("[]").error.code, k_invalid_request);
  EXPECT_EQ(first(R"({"id":3,"method":"m"})").error.code, k_invalid_request);
  EXPECT_EQ(first(R"({"id":3,"method":"m"})").id, 3);
  EXPECT_EQ(first(R"({"jsonrpc":"2.0","id":{},"method":"m"})").error.code, k_invalid_request);
  EXPECT_EQ(first(R"({"jsonrpc":"2.0","id":3,"method":"m","params":7})").error.code,
            k_invalid_params);
}

TEST(Messages, ListsAreBounded) {
  std::string list = "[0";
  for (std::size_t i = 1; i < k_most_in_batch; ++i) list += ",0";
  EXPECT_EQ(parse_line(list + "]").messages.size(), k_most_in_batch);
  EXPECT_EQ(parse_line(list + ",0]").messages.size(), 1u);
}

TEST(Messages, ErrorsCarryTheRemedy) {
  const RpcError error = rpc_error(
      k_not_found, {base::ErrorKind::usage, "no such thing", "ako://x", "x", "y", "ask for y"});
  const Json out = error_response(7, error);
  EXPECT_EQ(out["id"], 7);
  EXPECT_EQ(out["error"]["code"], k_not_found);
  EXPECT_EQ(out["error"]["data"]["next"], "ask for y");
}

/// Thousands of damaged lines: whatever comes out is a message or says that it is none.
TEST(Messages, NoDamageBreaksTheReader) {
  const std::string good =
      R"([{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log","arguments":{"count":3}}},{"jsonrpc":"2.0","method":"x"}])";
  std::mt19937 chance(11);
  for (int round = 0; round < 20000; ++round) {
    std::string line = good;
    for (auto edits = chance() % 5 + 1; edits > 0; --edits) {
      const std::size_t at = chance() % line.size();
      switch (chance() % 4) {
      case 0: line[at] = static_cast<char>(chance()); break;
      case 1: line.erase(at, chance() % 9); break;
      case 2: line.insert(at, 1, "{}[]\",:\\"[chance() % 8]); break;
      case 3: line.insert(at, line.substr(chance() % line.size(), chance() % 20)); break;
      }
      if (line.empty()) line = "x";
    }
    const Parsed parsed = parse_line(line);
    ASSERT_FALSE(parsed.messages.empty());
    for (const Message& message : parsed.messages)
      if (message.kind == Message::Kind::invalid) {
        EXPECT_LT(message.error.code, 0);
        EXPECT_FALSE(base::dump_json(error_response(message.id, message.error)).empty());
      } else if (message.kind == Message::Kind::request) {
        EXPECT_TRUE(message.id.is_string() || message.id.is_number_integer());
      }
  }
}

} // namespace
} // namespace ako::mcp
