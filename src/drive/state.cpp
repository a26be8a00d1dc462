#include "drive/state.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::drive {
namespace {

using base::get_or;
using base::Json;

std::string text_of(const Json& data, const char* key) {
  return get_or<std::string>(data, key, "");
}

void add_seconds(State& state, const Json& data) {
  state.wall_seconds += get_or<double>(data, "seconds", 0.0);
  state.device_seconds += get_or<double>(data, "device_seconds", 0.0);
}

/// Of an agent's turn.
void add_cost(State& state, const Json& data) {
  const double money = get_or<double>(data, "money", 0.0);
  state.wall_seconds += get_or<double>(data, "seconds", 0.0);
  state.money += money;
  if (get_or<bool>(data, "money_printed", true))
    state.dearest_turn = std::max(state.dearest_turn, money);
}

void apply_answer(State& state, const Json& data, std::int64_t event) {
  AnswerRecord& answer = state.answer = AnswerRecord{};
  answer.event = event;
  answer.how = text_of(data, "how");
  answer.hypothesis = text_of(data, "hypothesis");
  answer.prediction = text_of(data, "prediction");
  answer.cites = text_of(data, "cites");
  answer.direction = text_of(data, "direction");
  answer.done = text_of(data, "done");
  answer.candidate = text_of(data, "candidate");
  answer.trouble = text_of(data, "trouble");
  answer.changed = get_or<bool>(data, "changed", false);
  if (auto gain = base::get<double>(data, "predicted_gain")) answer.predicted_gain = *gain;
  for (const Json& each : get_or<Json>(data, "outside", Json::array()))
    if (each.is_string()) answer.outside.push_back(each.get<std::string>());
  answer.direction_taken = get_or<bool>(data, "direction_taken", false);
  add_cost(state, data);
  state.failures_in_a_row = answer.how == "ended" ? 0 : state.failures_in_a_row + 1;
  state.lost_in_a_row = 0;
  state.phase = Phase::answered;
}

/// What was judged ends an idle row, and takes up a direction; nothing else does.
void apply_tried(State& state, const Json& data) {
  add_seconds(state, data);
  state.stalls += get_or<bool>(data, "stalled", false);
  state.feedback = text_of(data, "text");
  const bool recorded = get_or<std::int64_t>(data, "iteration", 0) > 0;
  state.idle_in_a_row = recorded ? 0 : state.idle_in_a_row + 1;
  state.directions_taken += recorded && state.answer.direction_taken;
  const bool waits = !get_or<Json>(data, "unread", Json::array()).empty();
  if (waits) state.unjudged = state.answer;
  else if (state.answer.trouble.empty())
    state.unjudged = AnswerRecord{}; // else it stands there yet
  state.phase = Phase::ready;
}

void apply_lost(State& state, const Json& data) {
  --state.turn; // run again under its number
  add_cost(state, data);
  if (!get_or<bool>(data, "by_user", false)) ++state.lost_in_a_row;
  state.phase = Phase::ready;
}

void apply_lane(State& state, const Json& data, std::int64_t event) {
  LaneRecord& to = state.lane = LaneRecord{};
  to.event = event;
  to.to.lane = model::lane_from(text_of(data, "lane")).value_or(model::Lane::cpu);
  to.to.entry = {text_of(data, "file"), text_of(data, "symbol")};
  for (const Json& flag : get_or<Json>(data, "flags", Json::array()))
    if (flag.is_string()) to.to.flags.push_back(flag.get<std::string>());
  to.why = text_of(data, "why");
  to.sources = text_of(data, "sources");
  to.contract = text_of(data, "contract");
  ++state.lanes_taken;
  state.phase = Phase::changes_lane;
}

} // namespace

base::Status apply(State& state, const ledger::Campaign& step, std::int64_t event) {
  const Json& data = step.data;
  if (step.step == "begun") {
    if (state.phase == Phase::new_) state.inherited = get_or<std::int64_t>(data, "inherited", 0);
    // Begun again with more budget: what had stopped goes on.
    if (state.phase == Phase::new_ || state.phase == Phase::stopped) state.phase = Phase::ready;
    state.file = text_of(data, "hash");
    state.stopped.clear();
    state.idle_in_a_row = state.failures_in_a_row = state.lost_in_a_row = 0;
  } else if (step.step == "prepared") {
    add_seconds(state, data);
  } else if (step.step == "turn") {
    state.turn = step.turn;
    state.token = text_of(data, "token");
    state.solution = text_of(data, "solution");
    state.began_ns = get_or<std::int64_t>(data, "began_ns", 0);
    state.deadline_seconds = get_or<double>(data, "deadline_seconds", 0.0);
    state.phase = Phase::agent_runs;
  } else if (step.step == "answered") {
    apply_answer(state, data, event);
  } else if (step.step == "tried") {
    apply_tried(state, data);
  } else if (step.step == "lost") {
    apply_lost(state, data);
  } else if (step.step == "lane") {
    apply_lane(state, data, event);
  } else if (step.step == "laned") {
    add_seconds(state, data);
    state.feedback = text_of(data, "text");
    state.phase = Phase::ready;
  } else if (step.step == "stopped") {
    state.stopped = text_of(data, "reason");
    state.phase = Phase::stopped;
  } else if (step.step == "contender") {
    state.contenders.push_back(text_of(data, "setting") + " " + text_of(data, "snapshot"));
  } else if (step.step == "settings") { // for whoever adds up what was spent
  } else {
    return base::fail(base::ErrorKind::invalid, "an unknown step of a campaign is on record",
                      {.where = fmt::format("event {}", event),
                       .found = step.step,
                       .allowed = "the steps of this ako",
                       .next = "go on with the ako that began the campaign"});
  }
  return {};
}

base::Expected<State> state_of(ledger::Reader& reader, const std::string& campaign) {
  State out;
  AKO_TRY_STATUS(
      reader.each(ledger::EventKind::campaign, [&](const ledger::Event& event) -> base::Status {
        AKO_TRY(const ledger::Campaign step, ledger::payload_from<ledger::Campaign>(event.payload));
        return step.name == campaign ? apply(out, step, event.seq) : base::Status{};
      }));
  return out;
}

std::string reason_to_stop(const Campaign& campaign, const State& state,
                           const ledger::Standing& standing) {
  const Budget& budget = campaign.budget;
  const auto spent = [](double used, double most) { return most > 0 && used >= most; };
  if (campaign.stop.gain && standing.incumbent && standing.incumbent->confirmed &&
      standing.incumbent->base_gain.value_or(-1) >= *campaign.stop.gain)
    return fmt::format("the gain that was asked for is reached: {:+.1f} %",
                       100 * *standing.incumbent->base_gain);
  if (state.turn >= budget.iterations)
    return fmt::format("{} iterations are spent", budget.iterations);
  if (spent(state.wall_seconds, budget.wall_seconds))
    return fmt::format("{:.0f} s of wall time are spent", state.wall_seconds);
  if (spent(state.device_seconds, budget.device_seconds))
    return fmt::format("{:.0f} s of device time are spent", state.device_seconds);
  if (spent(state.money, budget.money))
    return fmt::format("{:.2f} of money are spent", state.money);
  if (state.failures_in_a_row >= campaign.stop.failures)
    return fmt::format("the agent failed {} times in a row", state.failures_in_a_row);
  if (state.idle_in_a_row >= campaign.stop.idle)
    return fmt::format("{} turns in a row brought nothing to judge", state.idle_in_a_row);
  if (state.lost_in_a_row >= campaign.stop.failures)
    return fmt::format("{} turns in a row were lost with their driver", state.lost_in_a_row);
  if (state.stalls >= campaign.stop.stalls)
    return fmt::format("{} stalls: the ideas have run out", state.stalls);
  const auto used_up = [](std::int64_t taken, std::size_t all) {
    return taken >= static_cast<std::int64_t>(all);
  };
  if (standing.stall_event && campaign.after_directions == AfterDirections::stop &&
      used_up(state.directions_taken, campaign.directions.size()) &&
      used_up(state.lanes_taken, campaign.lanes.size()))
    return campaign.lanes.empty() ? "a stall, and the campaign's directions are used up"
                                  : "a stall, and the campaign's directions and lanes are used up";
  return {};
}

const CampaignLane* due_lane(const Campaign& campaign, const State& state,
                             const ledger::Standing& standing) {
  const auto at = static_cast<std::size_t>(state.lanes_taken);
  const bool directed =
      static_cast<std::size_t>(state.directions_taken) < campaign.directions.size();
  return standing.stall_event && !directed && at < campaign.lanes.size() ? &campaign.lanes[at]
                                                                         : nullptr;
}

double turn_seconds(const AgentSpec& agent, const Budget& budget, const State& state) {
  if (budget.wall_seconds <= 0) return agent.deadline_seconds;
  return std::clamp(budget.wall_seconds - state.wall_seconds, 1.0, agent.deadline_seconds);
}

std::string remaining_text(const Budget& budget, const State& state) {
  std::string out = fmt::format("- iterations: {} of {} left, this one included\n",
                                budget.iterations - state.turn, budget.iterations);
  const auto line = [&](const char* what, double used, double most, const char* unit) {
    if (most > 0)
      out += fmt::format("- {}: {:.4g} of {:.4g}{} left\n", what, std::max(0.0, most - used), most,
                         unit);
  };
  line("wall time", state.wall_seconds, budget.wall_seconds, " s");
  line("device time", state.device_seconds, budget.device_seconds, " s");
  line("money", state.money, budget.money, "");
  return out;
}

} // namespace ako::drive
