#include "base/log.hpp"
#include "base/time.hpp"
#include "drive/alone.hpp"
#include "drive/driver_run.hpp"
#include "drive/leftovers.hpp"
#include "drive/prompt.hpp"
#include "drive/waivers.hpp"
#include "loop/interrupt.hpp"
#include "loop/reading.hpp"
#include "workspace/listing.hpp"
#include "workspace/snapshot.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>
#include <utility>

namespace ako::drive {

using base::ErrorKind;
using base::Expected;
using base::Json;
using base::Status;
namespace fs = base::fs;

namespace {

constexpr std::size_t k_output_on_record = 64u << 10;

std::string draw_token() {
  unsigned char bytes[16] = {};
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    return base::sha256(std::to_string(base::wall_ns()));
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

/// Nothing to judge, by the agent's own doing.
bool agents_fault(ErrorKind kind) { return kind == ErrorKind::invalid || kind == ErrorKind::usage; }

double seconds_from(std::int64_t started_ns) {
  return static_cast<double>(base::monotonic_ns() - started_ns) / 1e9;
}

std::string last_part(const std::string& text) {
  return text.size() > k_output_on_record ? text.substr(text.size() - k_output_on_record) : text;
}

const char* how_it_ended(const Heard& heard) {
  if (heard.timed_out) return "timeout";
  return heard.ending.exited && heard.ending.code == 0 ? "ended" : "failed";
}

} // namespace

std::string Driver::due_direction(const ledger::Standing& standing) const {
  const auto taken = static_cast<std::size_t>(m_state.directions_taken);
  return standing.stall_event && taken < m_campaign.directions.size() ? m_campaign.directions[taken]
                                                                      : std::string();
}

Expected<Turn> Driver::lay_out(const ledger::Standing& standing, const fs::path& scratch) {
  PromptParts parts;
  AKO_TRY(parts.brief, loop::brief_of(m_session));
  parts.state = m_state;
  parts.budget = m_campaign.budget;
  parts.agent = m_request.agent;
  parts.free = m_free_names;
  parts.deadline_seconds = turn_seconds(m_request.agent, m_campaign.budget, m_state);
  parts.direction = due_direction(standing);
  parts.ask_direction = standing.stall_event.has_value();
  Turn out;
  out.task = m_session.workdir().task();
  out.free = m_free;
  for (const std::vector<std::string>* list :
       {&std::as_const(m_adapter.own_folders), &m_request.agent.also_writable})
    for (const std::string& path : *list) out.free.push_back(with_home(path));
  out.scratch = scratch;
  out.printed = m_home / k_printed;
  out.prompt = prompt_text(parts);
  out.number = m_state.turn + 1;
  out.token = draw_token();
  out.deadline_seconds = parts.deadline_seconds;
  out.landlock = m_landlock;
  out.alone = can_be_alone();
  out.stop = [] { return loop::interrupted(); };
  return out;
}

Expected<model::Sources> Driver::keep_start() {
  AKO_TRY(const auto paths, workspace::candidate_paths(m_session.workdir(), m_session.contract()));
  AKO_TRY(model::Sources now,
          workspace::collect(m_session.workdir(), paths, {}, workspace::Missing::allowed));
  AKO_TRY_STATUS(
      workspace::keep_snapshot(m_session.workdir(), now, k_start).map([](const auto&) {}));
  return now;
}

Status Driver::give_reading(const fs::path& scratch) {
  auto reading = loop::reading_of(m_session);
  if (!reading) return {}; // the gate says why
  std::vector<const guides::Guide*> unread;
  for (const auto& item : reading->items) {
    AKO_TRY_STATUS(base::write_file_atomic(scratch / "reading" / (item.guide->id + ".md"),
                                           item.guide->shown()));
    if (item.state != guides::ReadState::read) unread.push_back(item.guide);
  }
  return loop::record_reading(m_session, unread);
}

Status Driver::turn(const ledger::Standing& standing) {
  AKO_TRY(base::TemporaryDir scratch, base::TemporaryDir::make("ako-scratch"));
  AKO_TRY_STATUS(give_reading(scratch.path()));
  AKO_TRY(const Turn laid, lay_out(standing, scratch.path()));
  AKO_TRY(const model::Sources start, keep_start());
  const std::string direction = due_direction(standing);
  {
    AKO_TRY(const base::FileLock lock, m_session.lock());
    std::error_code why;
    fs::remove_all(laid.printed, why); // of another turn
    AKO_TRY_STATUS(append("turn", laid.number,
                          {{"token", laid.token},
                           {"solution", start.snapshot.hash},
                           {"began_ns", base::wall_ns()},
                           {"deadline_seconds", laid.deadline_seconds}}));
    AKO_TRY(Guard guard, Guard::take(guard_plan(), m_guard ? &*m_guard : nullptr));
    m_guard = std::move(guard);
    base::info("turn {} of {}: {}", laid.number, m_campaign.budget.iterations, m_adapter.name);
    const std::int64_t started = base::monotonic_ns();
    const Subreaper keeper;
    auto heard = run_agent(m_adapter, laid);
    // While any of it lives the turn stays open: it is undone by whoever goes on.
    AKO_TRY(const int left, end_leftovers(laid.token));
    AKO_TRY(const std::vector<Change> changes, m_guard->undo());
    if (!heard) {
      const bool by_user = heard.error().kind == ErrorKind::interrupted;
      AKO_TRY_STATUS(put_sources(start));
      AKO_TRY_STATUS(m_guard->close());
      AKO_TRY_STATUS(lose(heard.error().message, by_user ? seconds_from(started) : 0, by_user,
                          by_user ? bill_for(printed_in(laid.printed)) : Bill{}));
      if (by_user) return stopped_by_user();
      return tl::unexpected(heard.error());
    }
    heard->left_running = left;
    AKO_TRY_STATUS(record_answer(laid, *heard, changes, start, direction));
  }
  return judge();
}

Bill Driver::bill_for(const Printed& printed) const {
  Money money = m_campaign.money;
  if (money.pattern.empty() && !m_adapter.money_pattern.empty())
    money = Money{m_adapter.money_pattern, 1, false, {}}; // it knows its price itself
  if (money.pattern.empty() && !money.tokens.any()) return {};
  Bill out;
  out.money = read_money(money, printed.out + "\n" + printed.err);
  out.printed = out.money.has_value();
  if (out.printed) return out;
  // Nobody knows: a turn that says nothing is not free.
  out.money = m_state.dearest_turn;
  out.note = m_state.dearest_turn > 0
                 ? fmt::format("the turn printed no cost: billed as the dearest before it, {:.4g}",
                               m_state.dearest_turn)
                 : "the turn printed no cost, and none before it did: not billed";
  base::info("turn {}: {}", m_state.turn, out.note);
  return out;
}

Said Driver::said_of(const Printed& printed, bool waited) const {
  Said said = read_answer(printed.out);
  if (!waited || !said.hypothesis.empty()) return said;
  const AnswerRecord& before = m_state.unjudged;
  said.hypothesis = before.hypothesis;
  if (said.prediction.empty()) said.prediction = before.prediction;
  if (said.cites.empty()) said.cites = before.cites;
  if (said.direction.empty()) said.direction = before.direction;
  if (!said.predicted_gain) said.predicted_gain = before.predicted_gain;
  return said;
}

Status Driver::record_answer(const Turn& laid, const Heard& heard,
                             const std::vector<Change>& changes, const model::Sources& start,
                             const std::string& direction) {
  Json outside = Json::array();
  for (const Change& change : changes) {
    base::info("undone: {}", to_text(change));
    outside.push_back(to_text(change));
  }
  std::string trouble;
  base::Hash candidate;
  AKO_TRY(const bool foreign, clear_way());
  if (foreign) trouble = "solution/ was no folder any more: it was moved away";
  auto taken = workspace::take_snapshot(m_session.workdir(), m_session.contract());
  if (!foreign && taken) {
    candidate = taken->snapshot.hash;
    AKO_TRY_STATUS(
        workspace::keep_snapshot(m_session.workdir(), *taken, k_answer).map([](const auto&) {}));
  } else {
    if (!foreign) trouble = taken.error().text();
    AKO_TRY_STATUS(put_sources(start));
  }
  const bool edited = candidate != start.snapshot.hash;
  const bool waited = !edited && candidate == m_state.unjudged.candidate;
  const Said said = said_of(heard.printed, waited);
  const Bill bill = bill_for(heard.printed);
  Json data = {{"how", how_it_ended(heard)},
               {"ending", heard.timed_out ? "deadline" : heard.ending.text()},
               {"seconds", base::number_or_null(heard.seconds)},
               {"money", bill.money ? base::number_or_null(*bill.money) : Json()},
               {"money_printed", bill.printed},
               {"money_note", bill.note},
               {"hypothesis", said.hypothesis},
               {"prediction", said.prediction},
               {"cites", said.cites},
               {"done", said.done},
               {"direction", direction.empty() ? said.direction : direction},
               {"direction_taken", !direction.empty()},
               {"predicted_gain", said.predicted_gain ? Json(*said.predicted_gain) : Json()},
               {"changed", edited || waited},
               {"candidate", candidate},
               {"trouble", trouble},
               {"outside", std::move(outside)},
               {"left_running", heard.left_running},
               {"landlock", m_landlock},
               {"alone", laid.alone}};
  AKO_TRY_STATUS(m_guard->close());
  return append(
      "answered", laid.number, std::move(data),
      {{"output", last_part(heard.printed.out)}, {"errors", last_part(heard.printed.err)}});
}

// --- judging ---

Status Driver::refuse(const std::string& why, double seconds) {
  base::info("turn {}: nothing to judge: {}", m_state.turn, why);
  return append(
      "tried", m_state.turn,
      {{"refused", why}, {"seconds", base::number_or_null(seconds)}, {"text", why + "\n"}});
}

Status Driver::wait_for_reading(const std::vector<std::string>& guides) {
  const std::string why = fmt::format(
      "what it holds makes guides required that were not shown yet: {}", fmt::join(guides, ", "));
  base::info("turn {}: not judged yet: {}", m_state.turn, why);
  return append("tried", m_state.turn,
                {{"refused", why},
                 {"unread", guides},
                 {"text", "Your candidate was not judged yet: " + why +
                              ". They lie in $AKO_SCRATCH/reading now: read them, then change the "
                              "candidate or leave it as it is. Your files are as you left them, "
                              "and are judged when this turn ends.\n"}});
}

Expected<loop::TryRequest> Driver::request_of_answer(const ledger::Standing& standing) {
  const AnswerRecord& answer = m_state.answer;
  loop::TryRequest out;
  out.hypothesis = answer.hypothesis.empty()
                       ? fmt::format("(turn {}: the agent gave no hypothesis)", m_state.turn)
                       : answer.hypothesis;
  out.prediction = answer.prediction;
  out.predicted_gain = answer.predicted_gain;
  out.cites = answer.cites;
  // Where no direction is due, the agent has none to give: it would end a stall before it is one.
  if (standing.stall_event) out.direction = answer.direction;
  AKO_TRY_STATUS(open_gates(m_session, m_campaign, out));
  return out;
}

Status Driver::judge() {
  const AnswerRecord& answer = m_state.answer;
  if (!answer.trouble.empty()) return refuse(answer.trouble);
  if (!answer.changed) return refuse("the candidate is what it was");
  if (const auto guides = not_yet_shown(m_session, m_campaign); !guides.empty())
    return wait_for_reading(guides);
  AKO_TRY(const ledger::Standing standing, m_session.standing());
  auto request = request_of_answer(standing);
  if (!request && agents_fault(request.error().kind)) {
    AKO_TRY_STATUS(put_standing());
    return refuse(request.error().text());
  }
  if (!request) return tl::unexpected(request.error());
  const std::int64_t started = base::monotonic_ns();
  auto result = evaluate_patiently(m_evaluator, m_session, *request);
  if (!result && agents_fault(result.error().kind)) {
    AKO_TRY_STATUS(put_standing());
    return refuse(result.error().text(), seconds_from(started));
  }
  if (!result) return tl::unexpected(result.error());
  if (machines_fault(result->outcome)) AKO_TRY_STATUS(put_standing());
  return record_verdict(*result);
}

Status Driver::record_verdict(const Evaluated& result) {
  base::info("turn {}: iteration {}: {} -> {}", m_state.turn, result.iteration,
             model::to_string(result.outcome), model::to_string(result.decision));
  std::string text = result.text;
  if (!result.no_commit.empty()) {
    base::info("iteration {}: {}", result.iteration, result.no_commit);
    text += fmt::format("ako's commit of iteration {} is missing: {}\n", result.iteration,
                        result.no_commit);
  }
  return append("tried", m_state.turn,
                {{"iteration", result.iteration},
                 {"first_iteration", result.first_iteration},
                 {"last_device_seconds", base::number_or_null(result.last_device_seconds)},
                 {"outcome", model::to_string(result.outcome)},
                 {"decision", model::to_string(result.decision)},
                 {"seconds", base::number_or_null(result.seconds)},
                 {"device_seconds", base::number_or_null(result.device_seconds)},
                 {"stalled", result.stalled},
                 {"no_commit", result.no_commit},
                 {"text", text}});
}

} // namespace ako::drive
