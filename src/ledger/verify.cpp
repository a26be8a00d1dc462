#include "ledger/verify.hpp"

#include "base/hash.hpp"
#include "ledger/rows.hpp"
#include "ledger/samples.hpp"
#include "ledger/schema.hpp"
#include "ledger/stored_event.hpp"
#include "ledger/writer.hpp"

#include <algorithm>
#include <unordered_set>

namespace ako::ledger {

using base::Database;
using base::Expected;
using base::Json;
using base::Statement;
using base::Status;

namespace {

/// Walks the record once; the first thing that does not hold ends the walk.
class Walk {
public:
  Walk(Reader& reader, const std::vector<KnownHead>& known, Verified& out)
      : m_reader(reader), m_db(reader.database()), m_known(known), m_out(out) {}

  Status run() {
    AKO_TRY_STATUS(check_file());
    if (!m_out.broken) AKO_TRY_STATUS(walk_events());
    if (!m_out.broken) AKO_TRY_STATUS(check_totals());
    if (!m_out.broken) AKO_TRY_STATUS(check_heads());
    if (!m_out.broken) AKO_TRY_STATUS(check_guards());
    return {};
  }

private:
  Status broken(std::int64_t seq, std::string what, std::string found, std::string expected) {
    m_out.broken = Break{seq, std::move(what), std::move(found), std::move(expected)};
    return {};
  }
  Status check_file();
  Status walk_events();
  Status check_event(std::int64_t seq, const std::string& kind, const std::string& text,
                     std::int64_t ts);
  Status check_blobs(std::int64_t seq, const std::vector<BlobRef>& blobs);
  Status check_samples(std::int64_t seq, const Attached& attached);
  Status check_row(std::int64_t seq, std::int64_t ts, const Json& payload);
  Status check_totals();
  Status check_heads();
  Status check_guards();
  Expected<std::int64_t> count(std::string_view sql) {
    AKO_TRY(Statement select, m_db.prepare(sql));
    AKO_TRY(const bool any, select.step());
    return any ? select.integer(0) : 0;
  }

  Reader& m_reader;
  Database& m_db;
  const std::vector<KnownHead>& m_known;
  Verified& m_out;
  std::unordered_set<std::string> m_blobs;
  std::string m_lane;
  std::int64_t m_rows = 0;
};

Status Walk::check_file() {
  AKO_TRY(Statement check, m_db.prepare("PRAGMA quick_check(1)"));
  AKO_TRY(const bool any, check.step());
  if (any && check.text(0) != "ok")
    return broken(0, "the file's own structure is damaged", check.text(0), "ok");
  return {};
}

Status Walk::walk_events() {
  AKO_TRY(base::Hash prev, m_reader.id());
  AKO_TRY(Statement select,
          m_db.prepare(std::string("SELECT ") + k_event_columns + " FROM event ORDER BY seq"));
  m_out.head = prev;
  while (true) {
    AKO_TRY(const bool more, select.step());
    if (!more) return {};
    const std::int64_t expected = m_out.events + 1, seq = select.integer(0);
    if (seq != expected)
      return broken(expected, "an event is missing", "event " + std::to_string(seq),
                    "event " + std::to_string(expected));
    if (select.text(1) != prev)
      return broken(seq, "an event does not follow from the one before", select.text(1), prev);
    const std::string kind = select.text(4), json = select.text(5);
    const base::Hash hash = event_hash(seq, prev, select.integer(3), kind, json);
    if (hash != select.text(2))
      return broken(seq, "an event was changed after it went on record", hash, select.text(2));
    AKO_TRY_STATUS(check_event(seq, kind, json, select.integer(3)));
    if (m_out.broken) return {};
    prev = hash;
    m_out.head = hash;
    m_out.events = seq;
  }
}

Status Walk::check_event(std::int64_t seq, const std::string& kind, const std::string& text,
                         std::int64_t ts) {
  auto json = base::parse_json(text, "event " + std::to_string(seq));
  if (!json) return broken(seq, "an event's JSON does not read", json.error().text(), "JSON");
  auto attached = take_attached(*json);
  if (!attached)
    return broken(seq, "an event's list of attachments does not read", attached.error().text(),
                  "blobs and samples");
  if (!kind_from(kind)) return broken(seq, "an event is of an unknown kind", kind, "a known kind");
  AKO_TRY_STATUS(check_blobs(seq, attached->blobs));
  if (!m_out.broken) AKO_TRY_STATUS(check_samples(seq, *attached));
  if (!m_out.broken && kind == to_string(EventKind::iteration))
    AKO_TRY_STATUS(check_row(seq, ts, *json));
  return {};
}

Status Walk::check_blobs(std::int64_t seq, const std::vector<BlobRef>& blobs) {
  for (const BlobRef& each : blobs) {
    if (m_blobs.count(each.hash)) continue;
    auto bytes = m_reader.blob(each.hash);
    if (!bytes) return broken(seq, "an attachment is missing: " + each.name, "nothing", each.hash);
    const base::Hash hash = base::sha256(std::string_view(*bytes));
    if (hash != each.hash)
      return broken(seq, "an attachment was changed: " + each.name, hash, each.hash);
    m_blobs.insert(each.hash);
  }
  m_out.blobs = static_cast<std::int64_t>(m_blobs.size());
  return {};
}

Status Walk::check_samples(std::int64_t seq, const Attached& attached) {
  auto rows = m_reader.samples(seq);
  if (!rows) return broken(seq, "a sample does not read", rows.error().text(), "a sample");
  const auto found = static_cast<std::int64_t>(rows->size());
  if (found != attached.sample_rows)
    return broken(seq, "samples were added or cut", std::to_string(found) + " samples",
                  std::to_string(attached.sample_rows));
  if (found == 0) return {};
  const base::Hash hash = sample_hash(*rows);
  if (hash != attached.sample_hash)
    return broken(seq, "samples were changed", hash, attached.sample_hash);
  m_out.samples += found;
  return {};
}

/// The derived row is what the event says: a changed one would show in status and log.
Status Walk::check_row(std::int64_t seq, std::int64_t ts, const Json& payload) {
  auto iteration = payload_from<Iteration>(payload);
  if (!iteration)
    return broken(seq, "an iteration does not read", iteration.error().text(), "an iteration");
  const IterationRow row = row_of(*iteration, seq, ts);
  const auto start = row_start(row, m_lane);
  m_lane = row.lane;
  ++m_rows;
  AKO_TRY(Statement select, m_db.prepare(std::string("SELECT ") + k_row_columns +
                                         ", row_start FROM iteration_row WHERE number = ?"));
  select.bind(1, row.number);
  AKO_TRY(const bool any, select.step());
  if (!any)
    return broken(seq, "the row derived from an iteration is missing", "nothing",
                  "iteration " + std::to_string(row.number));
  auto stored = read_row(select);
  const std::int64_t stored_start = select.is_null(17) ? 0 : select.integer(17);
  if (!stored || !(*stored == row) || stored_start != start.value_or(0))
    return broken(seq, "the row derived from an iteration was changed",
                  stored ? "other values" : stored.error().text(),
                  "what iteration " + std::to_string(row.number) + " says");
  return {};
}

Status Walk::check_totals() {
  AKO_TRY(const std::int64_t blobs, count("SELECT count(*) FROM blob"));
  if (blobs != m_out.blobs)
    return broken(0, "there are attachments that no event names", std::to_string(blobs),
                  std::to_string(m_out.blobs));
  AKO_TRY(const std::int64_t samples, count("SELECT count(*) FROM sample"));
  if (samples != m_out.samples)
    return broken(0, "there are samples that no event names", std::to_string(samples),
                  std::to_string(m_out.samples));
  AKO_TRY(const std::int64_t rows, count("SELECT count(*) FROM iteration_row"));
  if (rows != m_rows)
    return broken(0, "there are derived rows without an iteration", std::to_string(rows),
                  std::to_string(m_rows));
  return {};
}

Status Walk::check_heads() {
  std::int64_t newest = 0;
  for (const KnownHead& each : m_known) {
    AKO_TRY(Statement select, m_db.prepare("SELECT seq FROM event WHERE hash = ?"));
    select.bind(1, std::string_view(each.hash));
    AKO_TRY(const bool any, select.step());
    if (!any)
      return broken(m_out.events,
                    "the record ends before, or differs from, the state that " + each.origin +
                        " names: events were cut or rewritten, or this is an older copy",
                    "head " + m_out.head, each.hash);
    newest = std::max(newest, select.integer(0));
    ++m_out.heads;
  }
  // That a commit was made can only be noted after it: losing such a note loses nothing.
  AKO_TRY(const std::int64_t open, count("SELECT count(*) FROM event WHERE kind <> 'committed' AND "
                                         "seq > " +
                                         std::to_string(newest)));
  if (!m_known.empty() && open > 0)
    m_out.remarks.push_back(
        std::to_string(open) +
        " events came after the last head known outside the ledger; a cut among "
        "them would not show");
  if (m_known.empty() && m_out.events > 0)
    m_out.remarks.emplace_back(
        "no head is known outside the ledger: that nothing was cut at its end "
        "is not shown");
  return {};
}

Status Walk::check_guards() {
  AKO_TRY(Database fresh, Database::open(":memory:", Database::Mode::create));
  for (int to = 1; to <= k_schema_version; ++to) AKO_TRY_STATUS(fresh.exec(schema_step(to)));
  AKO_TRY(Statement wanted,
          fresh.prepare("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL"));
  while (true) {
    AKO_TRY(const bool more, wanted.step());
    if (!more) return {};
    AKO_TRY(Statement found, m_db.prepare("SELECT sql FROM sqlite_master WHERE name = ?"));
    const std::string name = wanted.text(0);
    found.bind(1, std::string_view(name));
    AKO_TRY(const bool any, found.step());
    if (!any || found.text(0) != wanted.text(1))
      return broken(0, "a table, index or guard of the ledger was removed or altered: " + name,
                    any ? found.text(0) : "nothing", wanted.text(1));
  }
}

/// A copy is lawful. When its original still stands and has another head, that is worth knowing.
Status remark_copy(Reader& reader, Verified& out) {
  AKO_TRY(Statement select, reader.database().prepare("SELECT id, path FROM origin"));
  AKO_TRY(const bool any, select.step());
  if (!any) return {};
  const std::string ours = select.text(0), made = select.text(1);
  if (made == origin_mark(ours, reader.path())) return {};
  const std::string name = made.substr(0, made.rfind('#'));
  const std::string copy =
      "this ledger was made at another place, as " + name + ", and is a copy or was moved";
  // Where that was is not on record; a copy often lies beside what it was made of.
  const std::filesystem::path beside = reader.path().parent_path() / name;
  auto original = Reader::open(beside);
  const bool same =
      made == origin_mark(ours, beside) && original &&
      original->id().map([&](const base::Hash& id) { return id == ours; }).value_or(false);
  if (!same) {
    out.remarks.push_back(copy);
    return {};
  }
  AKO_TRY(const Standing there, original->standing());
  if (there.head == out.head) {
    out.remarks.push_back(copy + "; both have the same head");
    return {};
  }
  AKO_TRY(const auto at_ours, original->event(out.events));
  const bool behind = at_ours ? at_ours->hash == out.head : out.events == 0;
  const auto gap = std::to_string(there.events > out.events ? there.events - out.events
                                                            : out.events - there.events);
  AKO_TRY(const auto at_theirs, reader.event(there.events));
  const bool ahead = at_theirs ? at_theirs->hash == there.head : there.events == 0;
  out.remarks.push_back(copy + (behind  ? "; the original has " + gap + " events more"
                                : ahead ? "; it has " + gap + " events more than the original"
                                        : "; the two have gone different ways"));
  return {};
}

} // namespace

Expected<Verified> verify(Reader& reader, const std::vector<KnownHead>& known) {
  Verified out;
  AKO_TRY_STATUS(reader.database().exec("BEGIN"));
  const Status status = Walk(reader, known, out).run();
  AKO_TRY_STATUS(reader.database().exec("COMMIT"));
  if (!status) return tl::unexpected(status.error());
  if (!out.broken) AKO_TRY_STATUS(remark_copy(reader, out));
  return out;
}

} // namespace ako::ledger
