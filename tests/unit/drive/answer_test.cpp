// What an agent says, and what it costs.
#include "drive/agent.hpp"

#include <gtest/gtest.h>

namespace ako::drive {
namespace {

TEST(Answer, TheLastLineOfEachKindCountsWhateverMarksAreAroundIt) {
  const Said said =
      read_answer("Hypothesis: first\ntext: no\n**Hypothesis:** eight sums in flight\n"
                  "> Predict-gain: +40 %\n- Cites: reductions\n`Done: nothing left`\n"
                  "this hypothesis: is not one, for words stand before it\n");
  EXPECT_EQ(said.hypothesis, "eight sums in flight");
  EXPECT_DOUBLE_EQ(said.predicted_gain.value(), 0.4);
  EXPECT_EQ(said.cites, "reductions");
  EXPECT_EQ(said.done, "nothing left");
  EXPECT_EQ(said.direction, "");
}

TEST(Answer, OneJsonObjectWithAResultIsReadInside) {
  EXPECT_EQ(read_answer(R"({"type":"result","result":"ok\nHypothesis: wider\n","x":1})").hypothesis,
            "wider");
  EXPECT_EQ(read_answer("Hypothesis: plain {not json").hypothesis, "plain {not json");
  EXPECT_EQ(read_answer("").hypothesis, "");
  EXPECT_FALSE(read_answer("Predict-gain: many").predicted_gain);
}

TEST(Answer, MoneyIsTheLastMatchOrTheSum) {
  const std::string text = "step cost: $0.10\nnoise\nstep cost: $0.25 and cost: $0.05\n";
  EXPECT_DOUBLE_EQ(read_money({R"(cost: \$([0-9.]+))", 1, false, {}}, text).value(), 0.05);
  EXPECT_DOUBLE_EQ(read_money({R"(cost: \$([0-9.]+))", 1, true, {}}, text).value(), 0.4);
  EXPECT_DOUBLE_EQ(read_money({R"(cost: \$([0-9.]+))", 2, true, {}}, text).value(), 0.8);
  EXPECT_FALSE(read_money({"price ([0-9]+)", 1, false, {}}, text));
  EXPECT_FALSE(read_money({"", 1, false, {}}, text));
  EXPECT_FALSE(read_money({"cost: (x*)", 1, false, {}}, text)); // a group that is no number
}

TEST(Answer, MoneyIsReadWholeWhereverItStandsInALongLine) {
  const Money last{adapter_for("claude").money_pattern, 1, false, {}};
  const Money sum{"cost=([0-9.]+)", 1, true, {}};
  for (std::size_t before = 3700; before < 4400; ++before) {
    const std::string text = std::string(before, 'x') + "\"total_cost_usd\":12.34";
    ASSERT_DOUBLE_EQ(read_money(last, text).value_or(-1), 12.34) << before;
    const std::string many =
        std::string(before, 'x') + "cost=1.5," + std::string(before, 'y') + "cost=2.25";
    ASSERT_DOUBLE_EQ(read_money(sum, many + "z" + many).value_or(-1), 7.5) << before;
  }
  EXPECT_FALSE(read_money({"^x+([0-9])", 1, false, {}}, "y" + std::string(9000, 'x') + "5"));
}

TEST(Answer, EventsOfCodexAreReadForWhatItSaysAndUsed) {
  const std::string events =
      "{\"type\":\"thread.started\",\"thread_id\":\"0199\"}\n"
      "{\"type\":\"item.completed\",\"item\":{\"id\":\"item_0\",\"type\":\"reasoning\",\"text\":"
      "\"Hypothesis: only thought\"}}\n"
      "{\"type\":\"item.completed\",\"item\":{\"id\":\"item_1\",\"type\":\"command_execution\","
      "\"aggregated_output\":\"{\\\"type\\\":\\\"turn.completed\\\"}\\nHypothesis: printed\"}}\n"
      "{\"type\":\"item.completed\",\"item\":{\"id\":\"item_2\",\"type\":\"agent_message\","
      "\"text\":"
      "\"Done it.\\nHypothesis: fewer stores\\nCites: loop\"}}\n"
      "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":24000,\"cached_input_tokens\":"
      "20000,"
      "\"output_tokens\":500}}\n";
  EXPECT_EQ(read_answer(events).hypothesis, "fewer stores");
  EXPECT_EQ(read_answer(events).cites, "loop");
  const TokenPrices prices{2e-6, 1e-6, 10e-6};
  const double once = 4000 * 2e-6 + 20000 * 1e-6 + 500 * 10e-6;
  EXPECT_DOUBLE_EQ(read_money({"", 1, false, prices}, events).value_or(-1), once);
  EXPECT_DOUBLE_EQ(read_money({"", 1, false, prices}, events + "noise\n" + events).value_or(-1),
                   2 * once);
  EXPECT_FALSE(read_money({"", 1, false, prices}, "{\"type\":\"turn.failed\"}\nno tokens\n"));
  const std::string odd = "{\"type\":\"turn.completed\",\"usage\":[1]}\n";
  EXPECT_EQ(read_money({"", 1, false, prices}, odd).value_or(-1), 0);
}

TEST(Answer, NumbersMayBeGrouped) {
  const auto read = [](const std::string& text) {
    return read_money({"used: ([0-9.,]+)", 1, false, {}}, text).value_or(-1);
  };
  EXPECT_EQ(read("used: 12,345"), 12345);
  EXPECT_EQ(read("used: 1,234,567.5"), 1234567.5);
  EXPECT_EQ(read("used: 12,34"), 12); // a list, not groups
}

TEST(Answer, AVeryLongLineIsNoTrouble) {
  const std::string text = std::string(4u << 20, 'a') + "\ncost: 3\n";
  EXPECT_DOUBLE_EQ(read_money({"cost: ([0-9]+)", 1, false, {}}, text).value(), 3);
}

TEST(Adapters, KnownNamesAndCommands) {
  EXPECT_EQ(adapter_for("claude").argv[0], "claude");
  EXPECT_EQ(adapter_for("codex").argv[1], "exec");
  EXPECT_EQ(adapter_for("python3 agent.py").argv,
            (std::vector<std::string>{"/bin/sh", "-c", "python3 agent.py"}));
  const Money money{adapter_for("claude").money_pattern, 1, false, {}};
  EXPECT_DOUBLE_EQ(read_money(money, R"({"total_cost_usd":0.125,"x":1})").value(), 0.125);
}

} // namespace
} // namespace ako::drive
