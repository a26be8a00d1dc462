#include "drive/waivers.hpp"

#include "loop/reading.hpp"

#include <algorithm>

namespace ako::drive {
namespace {

bool is_the_agents(loop::Gate gate) {
  return gate == loop::Gate::direction || gate == loop::Gate::citation;
}

loop::Waivers waivers_of(const Campaign& campaign) {
  loop::Waivers out;
#define AKO_X(name, text)                                                                          \
  for (const CampaignWaiver& each : campaign.waivers)                                              \
    if (each.gate == text) out[loop::Gate::name] = each.why;
  AKO_GATES(AKO_X)
#undef AKO_X
  return out;
}

} // namespace

base::Status open_gates(const loop::Session& session, const Campaign& campaign,
                        loop::TryRequest& request) {
  request.waivers = waivers_of(campaign);
  request.waived_by = "campaign file";
  AKO_TRY(loop::Facts facts, session.facts());
  facts.direction_given = !request.direction.empty();
  AKO_TRY(const auto cited,
          loop::cited_by(request.hypothesis, request.cites, facts.standing.iterations));
  facts.citation = cited.empty() ? loop::Citation::none : loop::Citation::given;
  for (const auto& gate : loop::closed_gates(loop::Claim::iteration, facts)) {
    if (request.waivers.count(gate.gate) != 0) continue;
    // What only the answer could have supplied costs the turn, not the campaign.
    if (is_the_agents(gate.gate))
      return base::fail(base::ErrorKind::usage, gate.missing, {.where = "your answer"});
    return base::fail(base::ErrorKind::refused, gate.missing,
                      {.where = std::string("gate ") + loop::to_string(gate.gate),
                       .found = "closed, and not waived by " + campaign.file.filename().string(),
                       .allowed = {},
                       .next = gate.command});
  }
  return {};
}

std::vector<std::string> not_yet_shown(const loop::Session& session, const Campaign& campaign) {
  if (waivers_of(campaign).count(loop::Gate::reading) != 0) return {};
  auto reading = loop::reading_of(session);
  return reading ? guides::to_read(reading->items) : std::vector<std::string>{};
}

base::Status carry_reading(const loop::Session& from, const loop::Session& to) {
  auto theirs = loop::reading_of(from);
  auto wanted = loop::reading_of(to);
  if (!theirs || !wanted) return {}; // the gate says why
  std::vector<const guides::Guide*> shown;
  for (const auto& item : wanted->items) {
    if (item.state == guides::ReadState::read) continue;
    // Reading an earlier edition again is no reading of this one: the last receipt counts.
    const auto last =
        std::find_if(theirs->receipts.rbegin(), theirs->receipts.rend(),
                     [&](const guides::Receipt& one) { return one.id == item.guide->id; });
    if (last != theirs->receipts.rend() && last->hash == item.guide->hash)
      shown.push_back(item.guide);
  }
  return loop::record_reading(to, shown);
}

} // namespace ako::drive
