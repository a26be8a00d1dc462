#include "report/data.hpp"

#include "model/contract_toml.hpp"
#include "stats/best_of.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::report {

using base::Expected;
using base::Status;
using ledger::Reader;

namespace {

template <class T> Status last(Reader& reader, std::optional<T>& into) {
  AKO_TRY(auto found, reader.last<T>());
  if (found) into = std::move(found->payload);
  return {};
}

template <class T> Status all(Reader& reader, std::vector<ledger::Recorded<T>>& into) {
  AKO_TRY(into, reader.all<T>());
  return {};
}

Status read_readings(Reader& reader, Data& data) {
  AKO_TRY(const auto events, reader.all<ledger::ReferencesRead>());
  for (const auto& event : events)
    for (const auto& guide : event.payload.guides) {
      auto there = std::find_if(data.readings.begin(), data.readings.end(),
                                [&](const GuideRead& one) { return one.id == guide.id; });
      if (there == data.readings.end())
        there = data.readings.insert(there, GuideRead{guide.id, {}, {}, 0, 0});
      there->title = guide.title;
      there->hash = guide.hash;
      there->ts_ns = event.event.ts_ns;
      ++there->times;
    }
  return {};
}

Status read_iterations(Reader& reader, Data& data, std::int64_t most) {
  AKO_TRY(const auto page, reader.page(most));
  if (page.empty()) return {};
  data.left_out = page.front().number - 1;
  AKO_TRY_STATUS(reader.each(
      ledger::EventKind::iteration,
      [&](const ledger::Event& event) -> Status {
        AKO_TRY(auto payload, ledger::payload_from<ledger::Iteration>(event.payload));
        data.iterations.push_back({event, std::move(payload)});
        return {};
      },
      page.front().event - 1));
  return reader.each(
      ledger::EventKind::committed,
      [&](const ledger::Event& event) -> Status {
        AKO_TRY(auto payload, ledger::payload_from<ledger::Committed>(event.payload));
        data.commits[payload.iteration] = payload.commit;
        return {};
      },
      page.front().event);
}

Status read_incumbent(Reader& reader, Data& data) {
  if (!data.standing.incumbent) return {};
  AKO_TRY(data.incumbent, reader.iteration(data.standing.incumbent->number));
  if (data.incumbent)
    for (const auto& blob : data.incumbent->event.blobs) {
      if (blob.name != "evaluation") continue;
      AKO_TRY(const std::string text, reader.blob(blob.hash));
      AKO_TRY(data.incumbent_evaluation, base::parse_json(text, "evaluation"));
    }
  if (!data.standing.second_opinion_event) return {};
  AKO_TRY(const auto event, reader.event(*data.standing.second_opinion_event));
  if (!event) return {};
  AKO_TRY(data.second_opinion, ledger::payload_from<ledger::SecondOpinion>(event->payload));
  return {};
}

bool against_baseline(const model::Verdict& verdict) {
  return verdict.against.rfind("baseline", 0) == 0;
}

} // namespace

Expected<Data> collect(Reader& reader, std::int64_t most) {
  Data data;
  AKO_TRY(data.standing, reader.standing());
  AKO_TRY_STATUS(last(reader, data.task));
  AKO_TRY_STATUS(last(reader, data.contract));
  AKO_TRY_STATUS(last(reader, data.self_test));
  AKO_TRY_STATUS(last(reader, data.environment));
  AKO_TRY_STATUS(read_readings(reader, data));
  AKO_TRY(data.baseline, reader.last<ledger::Baseline>());
  AKO_TRY_STATUS(read_iterations(reader, data, most));
  AKO_TRY_STATUS(read_incumbent(reader, data));
  AKO_TRY_STATUS(all(reader, data.waivers));
  AKO_TRY_STATUS(all(reader, data.stalls));
  AKO_TRY_STATUS(all(reader, data.directions));
  AKO_TRY_STATUS(all(reader, data.profiles));
  AKO_TRY_STATUS(all(reader, data.ports));
  AKO_TRY_STATUS(all(reader, data.validations));
  AKO_TRY_STATUS(all(reader, data.notes));
  AKO_TRY_STATUS(all(reader, data.interruptions));
  return data;
}

std::string guide_file(const GuideRead& guide) { return "references/" + guide.id + ".md"; }

namespace {

bool about_incumbent(const Data& data, const ledger::Port& port) {
  return data.incumbent && base::get_or<std::string>(port.data, "snapshot", "") ==
                               data.incumbent->payload.snapshot.hash;
}

} // namespace

std::string port_state(const Data& data) {
  std::string out;
  for (const auto& each : data.ports)
    if (about_incumbent(data, each.payload)) out = each.payload.state;
  return out;
}

namespace {

/// The samples behind both are the same.
bool same_figure(const model::Verdict& a, const model::Verdict& b) {
  return a.gain == b.gain && a.interval.low == b.interval.low &&
         a.interval.high == b.interval.high && a.placements == b.placements && a.pairs == b.pairs;
}

std::string choice_text(const Claim& claim) {
  if (claim.tried < 2) return {};
  return fmt::format("; chosen among {} tried, {}", claim.tried,
                     claim.fresh ? "measured again after that"
                                 : "by the very samples that the figure is from");
}

} // namespace

std::optional<Claim> claim(const Data& data) {
  if (!data.incumbent) return std::nullopt;
  const ledger::Iteration& it = data.incumbent->payload;
  const bool agreed = data.second_opinion && data.second_opinion->agreed;
  Claim out;
  if (it.versus_baseline) out.verdict = *it.versus_baseline;
  else if (against_baseline(it.verdict)) out.verdict = it.verdict;
  else return std::nullopt;
  out.confirmed = agreed;
  if (!agreed)
    out.label = data.second_opinion ? "a second opinion did not agree" : "without a second opinion";
  else
    out.label =
        "its step was confirmed by a second opinion (" +
        (data.second_opinion->replay.empty() ? "fresh processes" : data.second_opinion->replay) +
        ")";
  out.tried = it.number; // those that came later lost against it
  const bool again = it.versus_baseline && !same_figure(*it.versus_baseline, it.verdict);
  out.fresh = stats::winner_rule(static_cast<int>(out.tried),
                                 again ? stats::Evidence::fresh : stats::Evidence::selection) ==
              stats::Claim::stands;
  out.label += choice_text(out);
  return out;
}

namespace {

/// No library among the baselines: with the reason, or without one.
std::string library_line(const Data& data) {
  if (!data.contract) return {};
  const auto contract = model::parse_contract(data.contract->echo, "the contract on record");
  if (contract && std::any_of(contract->baselines.begin(), contract->baselines.end(),
                              [](const auto& each) { return each.kind == "library"; }))
    return {};
  std::string why;
  for (const auto& each : data.notes)
    if (each.payload.topic == "no_library") why = each.payload.text;
  return why.empty() ? "No library is among the baselines, and why is not said."
                     : "No library is among the baselines: " + why;
}

} // namespace

std::vector<std::string> unproven(const base::Json& evaluation) {
  std::vector<std::string> out;
  const auto correctness = base::get_or<base::Json>(evaluation, "correctness", {});
  for (const auto& line : base::get_or<base::Json>(correctness, "unproven", base::Json::array()))
    if (line.is_string()) out.push_back(line.get<std::string>());
  return out;
}

std::vector<std::string> untested(const Data& data) {
  std::vector<std::string> out;
  if (!data.baseline) out.emplace_back("No baseline is on record.");
  if (!data.self_test) out.emplace_back("The contract was never checked (`ako check`).");
  else if (!data.self_test->passed) out.emplace_back("The contract's last self-test failed.");
  else if (data.contract && data.self_test->contract != data.contract->hash)
    out.emplace_back("The contract changed after its last self-test.");
  if (data.standing.iterations > 0 && data.readings.empty())
    out.emplace_back("No guide is on record as read.");
  if (data.incumbent && !data.second_opinion)
    out.emplace_back("The incumbent has no second opinion.");
  if (data.incumbent && data.second_opinion && !data.second_opinion->agreed)
    out.emplace_back("The second opinion about the incumbent did not agree.");
  if (data.second_opinion && data.second_opinion->replay == "self-timed")
    out.emplace_back("Times are self-timed: the launches were not replayed by a trusted process.");
  if (data.incumbent && !claim(data))
    out.emplace_back("The incumbent was not measured against the baseline.");
  if (const auto made = claim(data); made && !made->fresh)
    out.push_back(fmt::format("The gain is from the samples that chose the incumbent among {} "
                              "tried: it was not measured again.",
                              made->tried));
  for (const std::string& line : unproven(data.incumbent_evaluation))
    out.push_back("Not looked at: " + line + ".");
  if (data.incumbent && data.incumbent->payload.decision == model::Decision::flag)
    out.push_back("The incumbent was kept with a named risk: " +
                  data.incumbent->payload.decision_reason);
  if (data.environment)
    out.push_back("Only measured on " + data.environment->device +
                  "; other devices, layouts and shapes than those listed are untested.");
  const std::string state = port_state(data);
  if (state == "rejected")
    out.emplace_back("The target rejected the incumbent: its win does not carry over.");
  else if (state != "confirmed")
    out.emplace_back("The gain was not confirmed inside the target repository.");
  for (const auto& each : data.ports)
    if (each.payload.state == "confirmed" && about_incumbent(data, each.payload))
      for (const auto& line :
           base::get_or<base::Json>(each.payload.data, "untested", base::Json::array()))
        if (line.is_string()) out.push_back("In the target: " + line.get<std::string>());
  if (const std::string line = library_line(data); !line.empty()) out.push_back(line);
  for (const auto& each : data.notes)
    if (each.payload.topic == "untested" || each.payload.topic == "risk")
      out.push_back(each.payload.text);
  return out;
}

} // namespace ako::report
