#include "loop/reading.hpp"

#include "profiles/playbook.hpp"
#include "workspace/snapshot.hpp"

namespace ako::loop {
namespace {

/// What stands in solution/ now. Sources that cannot be read are for the build to complain of.
std::vector<model::SourceText> candidate_texts(const Session& session) {
  auto sources = workspace::take_snapshot(session.workdir(), session.contract());
  return sources ? std::move(sources->texts) : std::vector<model::SourceText>{};
}

base::Expected<std::vector<guides::Receipt>> receipts_of(const Session& session) {
  std::vector<guides::Receipt> out;
  const auto path = session.workdir().ledger();
  std::error_code ignored;
  if (!path || !base::fs::exists(*path, ignored)) return out;
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(*path));
  AKO_TRY(const auto events, reader.all<ledger::ReferencesRead>());
  for (const auto& one : events)
    for (const auto& guide : one.payload.guides)
      out.push_back({guide.id, guide.hash, one.event.ts_ns});
  return out;
}

guides::Question question_of(const Session& session, const Reading& reading,
                             const std::string& claim) {
  guides::Question out;
  out.lane = reading.lane;
  out.architectures = reading.architectures;
  out.family = reading.family.id;
  out.claim = claim;
  out.sources = candidate_texts(session);
  return out;
}

std::vector<std::string> named(const std::vector<guides::ReadItem>& items) {
  std::vector<std::string> out;
  for (const auto& item : items) {
    if (item.state == guides::ReadState::read) continue;
    const bool changed = item.state == guides::ReadState::changed;
    out.push_back(item.guide->id + (changed ? " (changed since it was read)" : ""));
  }
  return out;
}

} // namespace

base::Expected<Reading> reading_of(const Session& session, const std::string& claim) {
  Reading out;
  out.claim = claim;
  AKO_TRY(const base::fs::path folder, guides::Library::find_folder());
  AKO_TRY(out.library, guides::Library::load(folder));
  AKO_TRY(out.routing, guides::load_routing(out.library));
  AKO_TRY(const std::string text, base::read_file(session.workdir().contract(), 1u << 20));
  AKO_TRY(out.family,
          guides::family_of(out.routing, session.contract(), guides::declared_family(text)));
  const auto& kernel = session.contract().kernel;
  out.lane = model::to_string(kernel.lane);
  out.architectures = kernel.architectures;
  if (out.architectures.empty() && kernel.lane != model::Lane::cpu)
    if (auto target = session.target(); target && !target->architecture().empty())
      out.architectures.push_back(target->architecture());
  AKO_TRY(out.receipts, receipts_of(session));
  out.items = guides::reading(
      guides::required(out.routing, out.library, question_of(session, out, claim)), out.receipts);
  return out;
}

base::Status record_reading(const Session& session,
                            const std::vector<const guides::Guide*>& shown) {
  if (shown.empty()) return {};
  ledger::ReferencesRead event;
  for (const auto* guide : shown) event.guides.push_back({guide->id, guide->title, guide->hash});
  AKO_TRY(ledger::Writer writer, session.writer());
  return writer.append(event).map([](const auto&) {});
}

Unread unread_of(const Session& session) {
  Unread out;
  auto reading = reading_of(session);
  if (!reading) {
    out.trouble = reading.error().text();
    return out;
  }
  out.iteration = named(reading->items);
  out.port = named(guides::reading(
      guides::required(reading->routing, reading->library, question_of(session, *reading, "port")),
      reading->receipts));
  return out;
}

base::Expected<std::vector<std::string>>
cited_by(const std::string& hypothesis, const std::string& cites, std::int64_t iterations) {
  std::vector<std::string> findings;
  for (const auto id : profiles::finding_ids()) findings.emplace_back(id);
  std::optional<guides::Library> library;
  if (auto folder = guides::Library::find_folder())
    if (auto loaded = guides::Library::load(*folder)) library = std::move(*loaded);
  AKO_TRY(
      const guides::Cited cited,
      guides::citations(hypothesis, cites, library ? &*library : nullptr, findings, iterations));
  return cited.ids;
}

} // namespace ako::loop
