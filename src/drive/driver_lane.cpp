#include "base/log.hpp"
#include "drive/driver_run.hpp"
#include "loop/lane.hpp"
#include "workspace/listing.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::drive {

using base::ErrorKind;
using base::Expected;
using base::Json;
using base::Status;
namespace fs = base::fs;

namespace {

loop::LaneSwitch switch_to(const CampaignLane& lane, std::string why) {
  return {lane.lane, lane.entry, lane.flags, std::move(why)};
}

} // namespace

tl::unexpected<base::Error> Driver::no_lane(const CampaignLane& lane, std::string message,
                                            std::string found, std::string allowed) const {
  return base::fail(
      ErrorKind::invalid, std::move(message),
      {.where = fmt::format("{}: stall.lane \"{}\"", m_campaign.file.filename().string(),
                            model::to_string(lane.lane)),
       .found = std::move(found),
       .allowed = std::move(allowed),
       .next = "mend that lane, or leave it out"});
}

Status Driver::check_lanes() const {
  const auto first = static_cast<std::size_t>(m_state.lanes_taken);
  if (first >= m_campaign.lanes.size()) return {};
  AKO_TRY(const loop::LaneFacts facts, loop::lane_facts(m_session));
  AKO_TRY(const std::string toml, base::read_file(m_session.workdir().contract()));
  model::Lane before = m_session.contract().kernel.lane;
  for (std::size_t at = first; at < m_campaign.lanes.size(); ++at) {
    const CampaignLane& lane = m_campaign.lanes[at];
    const fs::path from = (m_session.workdir().task() / lane.from).lexically_normal();
    std::error_code why;
    if (lane.lane == before)
      return no_lane(lane, "the task is in this lane already by then", model::to_string(before),
                     "another lane than the one before it");
    if (!fs::is_regular_file(from, why))
      return no_lane(lane, "the first version of a lane is not there", lane.from,
                     "a file of the task");
    for (const fs::path& free : m_free)
      if (const auto ends = std::mismatch(free.begin(), free.end(), from.begin(), from.end());
          ends.first == free.end())
        return no_lane(lane, "the agent could edit the first version of a lane", lane.from,
                       "a file outside its paths, such as one below input/");
    if (std::find(facts.usable.begin(), facts.usable.end(), lane.lane) == facts.usable.end())
      return no_lane(lane, "this lane cannot be used here", "its compiler or device is missing",
                     "a lane that `ako lane suggest` calls usable");
    AKO_TRY_STATUS(loop::switched_contract(toml, m_session.contract(), switch_to(lane, ""))
                       .map([](const auto&) {}));
    before = lane.lane;
  }
  return {};
}

Expected<model::Sources> Driver::first_version(const CampaignLane& lane) {
  AKO_TRY(const auto paths, workspace::candidate_paths(m_session.workdir(), m_session.contract()));
  AKO_TRY(const model::Sources now,
          workspace::collect(m_session.workdir(), paths, {}, workspace::Missing::allowed));
  std::vector<model::SourceText> texts;
  for (const model::SourceText& text : now.texts)
    if (text.path.rfind("solution/", 0) != 0) texts.push_back(text);
  AKO_TRY(std::string content, base::read_file(m_session.workdir().task() / lane.from));
  texts.push_back({lane.entry.file, std::move(content), false});
  return workspace::make_sources(std::move(texts));
}

Status Driver::begin_lane(const CampaignLane& lane, const ledger::Standing& standing) {
  AKO_TRY(const model::Sources first, first_version(lane));
  AKO_TRY_STATUS(
      workspace::keep_snapshot(m_session.workdir(), first, k_lane).map([](const auto&) {}));
  AKO_TRY(const std::string toml, base::read_file(m_session.workdir().contract()));
  AKO_TRY_STATUS(
      append("lane", m_state.turn,
             {{"lane", model::to_string(lane.lane)},
              {"before", model::to_string(m_session.contract().kernel.lane)},
              {"file", lane.entry.file},
              {"symbol", lane.entry.symbol},
              {"flags", lane.flags},
              {"why", fmt::format("campaign {}: a stall after iteration {}, its directions used up",
                                  m_campaign.name, standing.iterations)},
              {"sources", first.snapshot.hash},
              {"contract", base::sha256(toml)}},
             {{"contract", toml}}));
  return change_lane();
}

Status Driver::change_lane() {
  const LaneRecord to = m_state.lane;
  AKO_TRY(const model::Sources first, kept(k_lane, to.sources));
  const model::SourceText* entry = first.find(to.to.entry.file);
  AKO_CHECK(entry != nullptr, "the first version of a lane holds its entry");
  AKO_TRY(ledger::Reader reader, m_session.reader());
  AKO_TRY(const auto changed, reader.last<ledger::Direction>());
  if (!changed || changed->event.seq < to.event) {
    AKO_TRY(const std::string toml, reader.blob(to.contract));
    AKO_TRY(const std::string now, base::read_file(m_session.workdir().contract()));
    if (now != toml) AKO_TRY_STATUS(base::write_file_atomic(m_session.workdir().contract(), toml));
    AKO_TRY(m_session, m_session.again());
    // Beside what stands: at every moment the file that task.toml names is there.
    AKO_TRY_STATUS(
        base::write_file_atomic(m_session.workdir().task() / to.to.entry.file, entry->content));
    AKO_TRY_STATUS(loop::switch_lane(m_session, switch_to(to.to, to.why)));
  }
  base::info("{}: the task goes on in lane {}", to.why, model::to_string(to.to.lane));
  AKO_TRY(m_session, m_session.again());
  list_free();
  AKO_TRY_STATUS(
      workspace::keep_snapshot(m_session.workdir(), first, loop::lane_start_name(to.to.lane))
          .map([](const auto&) {}));
  AKO_TRY_STATUS(put_sources(first));
  AKO_TRY(const Spent spent, prepare());
  return append("laned", m_state.turn,
                {{"text", fmt::format("A stall: ako has changed the lane to {}. {} holds a first "
                                      "version there; what stands, in the lane before, is what "
                                      "it has to beat.\n",
                                      model::to_string(to.to.lane), to.to.entry.file)},
                 {"seconds", base::number_or_null(spent.seconds)},
                 {"device_seconds", base::number_or_null(spent.device_seconds)}});
}

} // namespace ako::drive
