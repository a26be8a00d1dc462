#include "protocol/crash.hpp"
#include "protocol/kinds.hpp"
#include "protocol/server.hpp"
#include "protocol/values.hpp"

#include "base/frame.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace ako::protocol {
namespace {

TEST(Values, SixtyFourBitsSurvive) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1} << 63, UINT64_MAX})
    EXPECT_EQ(from_hex(hex(value)).value(), value);
  for (const char* text : {"", "0x", "12", "0xg", "0x11111111111111111", "0x 1", "0x1 "})
    EXPECT_FALSE(from_hex(text)) << text;
}

TEST(Values, ListsOfSmallIntegers) {
  EXPECT_EQ(get_ints(base::Json{{"a", {1, -2}}}, "a").value(), (std::vector<int>{1, -2}));
  EXPECT_TRUE(get_ints(base::Json::object(), "a").value().empty());
  EXPECT_FALSE(get_ints(base::Json{{"a", 3}}, "a"));
  EXPECT_FALSE(get_ints(base::Json{{"a", {1.5}}}, "a"));
  EXPECT_FALSE(get_ints(base::Json{{"a", {std::int64_t{1} << 40}}}, "a"));
  EXPECT_FALSE(get_ints(base::Json("text"), "a"));
}

TEST(Values, TensorsSurvive) {
  ArenaTensor tensor;
  tensor.resolved.name = "y";
  tensor.resolved.role = model::TensorRole::workspace;
  tensor.resolved.dtype = model::Dtype::bfloat16;
  tensor.resolved.shape = {3, 4};
  tensor.resolved.strides = {8, 1};
  tensor.resolved.elements = 12;
  tensor.resolved.span_elements = 20;
  tensor.resolved.bytes = 40;
  tensor.resolved.contiguous = false;
  tensor.lifetime = model::Lifetime::static_;
  tensor.workspace = model::WorkspaceState::zeroed_once;
  const auto json = to_json(tensor);
  const auto back = arena_tensor_from_json(json);
  ASSERT_TRUE(back);
  EXPECT_EQ(base::dump_json(to_json(*back)), base::dump_json(json));
  for (const auto& [key, value] : json.items()) {
    auto without = json;
    without.erase(key);
    EXPECT_FALSE(arena_tensor_from_json(without)) << key;
  }
}

TEST(Values, FillsSurvive) {
  FillOrder order{2, {}, "/some/library.so"};
  order.spec.kind = model::Fill::custom;
  order.spec.symbol = "fill_me";
  order.spec.low = -0.25;
  const auto back = fill_order_from_json(to_json(order));
  ASSERT_TRUE(back);
  EXPECT_EQ(base::dump_json(to_json(*back)), base::dump_json(to_json(order)));
}

TEST(Server, AnswersCarryKindIdAndFlags) {
  auto ends = base::make_socket_pair();
  ASSERT_TRUE(ends);
  ASSERT_TRUE(
      base::send_frame(ends->first.get(), {33, 0, 77, R"({"a":1})"}, base::Deadline::never()));
  const auto request = receive_request(ends->second.get());
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, Kind::load);
  ASSERT_TRUE(send_answer(ends->second.get(), request->kind, request->id, base::Json{{"b", 2}}));
  ASSERT_TRUE(send_refusal(ends->second.get(), request->kind, request->id, {"stale", "no", {}}));
  const auto answer = base::receive_frame(ends->first.get(), base::Deadline::after_seconds(5));
  const auto refusal = base::receive_frame(ends->first.get(), base::Deadline::after_seconds(5));
  ASSERT_TRUE(answer && refusal);
  EXPECT_EQ(answer->flags, k_answer);
  EXPECT_EQ(answer->id, 77u);
  EXPECT_EQ(refusal->flags, k_answer | k_error);
}

TEST(Server, NonsenseEndsTheConversation) {
  auto ends = base::make_socket_pair();
  ASSERT_TRUE(
      base::send_frame(ends->first.get(), {33, 0, 1, "{not json"}, base::Deadline::never()));
  EXPECT_FALSE(receive_request(ends->second.get()));
}

TEST(Crash, ForbiddenCallsHaveNames) {
  EXPECT_STREQ(system_call_name(SYS_ptrace), "ptrace");
  EXPECT_STREQ(system_call_name(SYS_execve), "execve");
  EXPECT_STREQ(system_call_name(SYS_read), "");
}

} // namespace
} // namespace ako::protocol
