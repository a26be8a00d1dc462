// A campaign's state from its events, and when it ends.
#include "drive/state.hpp"

#include <gtest/gtest.h>

namespace ako::drive {
namespace {

State told(const std::vector<ledger::Campaign>& steps) {
  State out;
  std::int64_t event = 0;
  for (const auto& step : steps) EXPECT_TRUE(apply(out, step, ++event));
  return out;
}

ledger::Campaign step(const char* what, std::int64_t turn, base::Json data = base::Json::object()) {
  return {"c", what, turn, std::move(data)};
}

TEST(State, FollowsATurn) {
  EXPECT_EQ(told({}).phase, Phase::new_);
  const auto begun = step("begun", 0, {{"inherited", 4}});
  EXPECT_EQ(told({begun}).phase, Phase::ready);
  EXPECT_EQ(told({begun}).inherited, 4);
  const auto turn = step("turn", 1, {{"token", "t"}, {"solution", "s"}});
  EXPECT_EQ(told({begun, turn}).phase, Phase::agent_runs);
  const auto answered = step("answered", 1,
                             {{"how", "ended"},
                              {"seconds", 5.0},
                              {"money", 0.5},
                              {"changed", true},
                              {"candidate", "h"},
                              {"outside", {"x was changed"}}});
  const State open = told({begun, turn, answered});
  EXPECT_EQ(open.phase, Phase::answered);
  EXPECT_EQ(open.answer.candidate, "h");
  EXPECT_EQ(open.answer.event, 3);
  EXPECT_EQ(open.answer.outside.size(), 1u);
  const State done =
      told({begun, turn, answered,
            step("tried", 1, {{"seconds", 7.0}, {"device_seconds", 3.0}, {"text", "so"}})});
  EXPECT_EQ(done.phase, Phase::ready);
  EXPECT_EQ(done.turn, 1);
  EXPECT_DOUBLE_EQ(done.wall_seconds, 12);
  EXPECT_DOUBLE_EQ(done.device_seconds, 3);
  EXPECT_DOUBLE_EQ(done.money, 0.5);
  EXPECT_EQ(done.feedback, "so");
}

TEST(State, ALostTurnIsRunAgainUnderItsNumber) {
  const State lost = told({step("begun", 0), step("turn", 1), step("lost", 1)});
  EXPECT_EQ(lost.turn, 0);
  EXPECT_EQ(lost.phase, Phase::ready);
}

TEST(State, TurnsOfWhichNothingWasJudgedAndFailedOnesAreCountedInARow) {
  const auto answered = step("answered", 1, {{"how", "ended"}, {"changed", true}});
  const auto hung = step("answered", 2, {{"how", "timeout"}, {"changed", true}});
  const auto refused = step("tried", 1, {{"refused", "no direction"}, {"seconds", 2.0}});
  const auto judged = step("tried", 1, {{"iteration", 1}});
  State state = told({step("begun", 0), answered, refused, answered, refused, answered});
  EXPECT_EQ(state.idle_in_a_row, 2) << "an answer is none of what is counted";
  EXPECT_EQ(state.failures_in_a_row, 0);
  EXPECT_DOUBLE_EQ(state.wall_seconds, 4);
  state = told({step("begun", 0), answered, refused, hung, judged, hung});
  EXPECT_EQ(state.idle_in_a_row, 0);
  EXPECT_EQ(state.failures_in_a_row, 2);
}

TEST(State, ADirectionIsTakenWhenAnIterationCameOfIt) {
  const auto answered = step("answered", 1, {{"how", "ended"}, {"direction_taken", true}});
  const auto refused = step("tried", 1, {{"refused", "nothing"}});
  EXPECT_EQ(told({step("begun", 0), answered, refused}).directions_taken, 0);
  EXPECT_EQ(
      told({step("begun", 0), answered, step("tried", 1, {{"iteration", 4}})}).directions_taken, 1);
}

TEST(State, WhatALostTurnAndPreparationsTookIsSpent) {
  const auto lost = step("lost", 1, {{"seconds", 30.0}, {"money", 0.5}, {"money_printed", false}});
  const auto stopped = step("lost", 1, {{"seconds", 5.0}, {"by_user", true}});
  const auto turn = step("turn", 1, {{"began_ns", 7}, {"deadline_seconds", 60.0}});
  State state =
      told({step("begun", 0), step("prepared", 0, {{"seconds", 9.0}, {"device_seconds", 8.0}}),
            turn, lost, turn, stopped, turn, lost});
  EXPECT_DOUBLE_EQ(state.wall_seconds, 74);
  EXPECT_DOUBLE_EQ(state.device_seconds, 8);
  EXPECT_DOUBLE_EQ(state.money, 1);
  EXPECT_DOUBLE_EQ(state.dearest_turn, 0) << "a guess is no price";
  EXPECT_EQ(state.lost_in_a_row, 2) << "what a person stopped is no loss";
  EXPECT_DOUBLE_EQ(state.deadline_seconds, 60);
  ASSERT_TRUE(apply(state, step("answered", 1, {{"how", "ended"}, {"money", 0.25}}), 9));
  EXPECT_EQ(state.lost_in_a_row, 0);
  EXPECT_DOUBLE_EQ(state.dearest_turn, 0.25);
}

TEST(State, ACandidateThatWaitsForGuidesIsRemembered) {
  const auto answered = step("answered", 1, {{"how", "ended"}, {"candidate", "h"}});
  const auto waits = step("tried", 1, {{"refused", "r"}, {"unread", {"atomics"}}});
  EXPECT_EQ(told({answered, waits}).unjudged.candidate, "h");
  EXPECT_EQ(
      told({answered, waits, answered, step("tried", 2, {{"iteration", 1}})}).unjudged.candidate,
      "");
}

TEST(State, BegunAgainItGoesOn) {
  State state = told({step("begun", 0), step("stopped", 3, {{"reason", "r"}})});
  EXPECT_EQ(state.phase, Phase::stopped);
  EXPECT_EQ(state.stopped, "r");
  ASSERT_TRUE(apply(state, step("begun", 3), 9));
  EXPECT_EQ(state.phase, Phase::ready);
}

TEST(State, AnUnknownStepIsAnError) {
  State state;
  EXPECT_FALSE(apply(state, step("danced", 0), 1));
}

TEST(Stop, EachLimitNamesItself) {
  Campaign campaign;
  campaign.budget = {10, 100, 50, 2};
  ledger::Standing standing;
  State state;
  EXPECT_EQ(reason_to_stop(campaign, state, standing), "");
  const auto reason = [&](auto change) {
    State changed = state;
    change(changed);
    return reason_to_stop(campaign, changed, standing);
  };
  EXPECT_NE(reason([](State& s) { s.turn = 10; }).find("iterations"), std::string::npos);
  EXPECT_NE(reason([](State& s) { s.wall_seconds = 100; }).find("wall"), std::string::npos);
  EXPECT_NE(reason([](State& s) { s.device_seconds = 50; }).find("device"), std::string::npos);
  EXPECT_NE(reason([](State& s) { s.money = 2; }).find("money"), std::string::npos);
  EXPECT_NE(reason([](State& s) { s.idle_in_a_row = 3; }).find("nothing to judge"),
            std::string::npos);
  EXPECT_NE(reason([](State& s) { s.lost_in_a_row = 3; }).find("were lost"), std::string::npos);
  EXPECT_NE(reason([](State& s) { s.failures_in_a_row = 3; }).find("failed"), std::string::npos);
  EXPECT_NE(reason([](State& s) { s.stalls = 3; }).find("stalls"), std::string::npos);
  EXPECT_EQ(reason([](State& s) { s.turn = 9, s.wall_seconds = 99, s.money = 1.9; }), "");
}

TEST(Stop, OnlyAConfirmedGainReachesTheGoal) {
  Campaign campaign;
  campaign.stop.gain = 0.3;
  ledger::Standing standing;
  standing.incumbent.emplace();
  standing.incumbent->base_gain = 0.4;
  EXPECT_EQ(reason_to_stop(campaign, {}, standing), "");
  standing.incumbent->confirmed = true;
  EXPECT_NE(reason_to_stop(campaign, {}, standing), "");
  standing.incumbent->base_gain = 0.2;
  EXPECT_EQ(reason_to_stop(campaign, {}, standing), "");
}

TEST(Stop, AStallLeadsThroughDirectionsAndLanesInTurn) {
  Campaign campaign;
  campaign.directions = {"d"};
  campaign.lanes = {{model::Lane::cuda, {"solution/k.cu", "k"}, "input/k.cu", {}}};
  campaign.after_directions = AfterDirections::stop;
  ledger::Standing standing;
  State state;
  state.directions_taken = 1;
  EXPECT_EQ(due_lane(campaign, state, standing), nullptr); // no stall
  standing.stall_event = 7;
  EXPECT_EQ(due_lane(campaign, state, standing), &campaign.lanes[0]);
  EXPECT_EQ(reason_to_stop(campaign, state, standing), "");
  state.directions_taken = 0;
  EXPECT_EQ(due_lane(campaign, state, standing), nullptr); // a direction comes first
  state.directions_taken = state.lanes_taken = 1;
  EXPECT_EQ(due_lane(campaign, state, standing), nullptr);
  EXPECT_NE(reason_to_stop(campaign, state, standing).find("lanes are used up"), std::string::npos);
}

TEST(State, AChangeOfLaneIsOpenUntilItIsProven) {
  const auto lane = step("lane", 3,
                         {{"lane", "cuda"},
                          {"file", "solution/k.cu"},
                          {"symbol", "k"},
                          {"flags", {"-O3"}},
                          {"sources", "s"},
                          {"contract", "c"}});
  const State open = told({step("begun", 0), lane});
  EXPECT_EQ(open.phase, Phase::changes_lane);
  EXPECT_EQ(open.lanes_taken, 1);
  EXPECT_EQ(open.lane.event, 2);
  EXPECT_EQ(open.lane.to.lane, model::Lane::cuda);
  EXPECT_EQ(open.lane.to.entry, (model::EntryRef{"solution/k.cu", "k"}));
  EXPECT_EQ(open.lane.to.flags, std::vector<std::string>{"-O3"});
  const State done = told({step("begun", 0), lane, step("laned", 3, {{"text", "so"}})});
  EXPECT_EQ(done.phase, Phase::ready);
  EXPECT_EQ(done.feedback, "so");
}

TEST(Budget, TheLastTurnGetsWhatIsLeft) {
  State state;
  state.wall_seconds = 95;
  AgentSpec agent;
  EXPECT_DOUBLE_EQ(turn_seconds(agent, {10, 0, 0, 0}, state), agent.deadline_seconds);
  EXPECT_DOUBLE_EQ(turn_seconds(agent, {10, 100, 0, 0}, state), 5);
  EXPECT_DOUBLE_EQ(turn_seconds(agent, {10, 96, 0, 0}, state), 1);
}

} // namespace
} // namespace ako::drive
