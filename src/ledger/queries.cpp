#include "ledger/queries.hpp"

#include "ledger/open.hpp"
#include "ledger/rows.hpp"
#include "ledger/samples.hpp"
#include "ledger/schema.hpp"
#include "ledger/stored_event.hpp"

#include <algorithm>

namespace ako::ledger {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Statement;
using base::Status;

namespace {

Expected<std::vector<IterationRow>> rows(Statement& select) {
  std::vector<IterationRow> out;
  while (true) {
    AKO_TRY(const bool more, select.step());
    if (!more) return out;
    AKO_TRY(IterationRow row, read_row(select));
    out.push_back(std::move(row));
  }
}

Expected<std::optional<IterationRow>> one_row(Statement& select) {
  AKO_TRY(const bool more, select.step());
  if (!more) return std::optional<IterationRow>{};
  AKO_TRY(IterationRow row, read_row(select));
  return std::optional<IterationRow>(std::move(row));
}

std::string select_rows(std::string_view rest) {
  return std::string("SELECT ") + k_row_columns + " FROM iteration_row " + std::string(rest);
}

Expected<std::optional<Event>> one_event(Statement& select) {
  AKO_TRY(const bool more, select.step());
  if (!more) return std::optional<Event>{};
  AKO_TRY(Event event, read_event(select));
  return std::optional<Event>(std::move(event));
}

std::string select_events(std::string_view rest) {
  return std::string("SELECT ") + k_event_columns + " FROM event " + std::string(rest);
}

} // namespace

Expected<Reader> Reader::open(const std::filesystem::path& path) {
  AKO_TRY(base::Database db, open_for_reading(path));
  return Reader(std::move(db), std::filesystem::absolute(path).lexically_normal());
}

Expected<base::Hash> Reader::id() { return ledger_id(m_db); }

Expected<base::Hash> Reader::head() {
  AKO_TRY(Statement select, m_db.prepare("SELECT hash FROM event ORDER BY seq DESC LIMIT 1"));
  AKO_TRY(const bool any, select.step());
  if (any) return select.text(0);
  return id();
}

Expected<std::optional<Event>> Reader::event(std::int64_t seq) {
  AKO_TRY(Statement select, m_db.prepare(select_events("WHERE seq = ?")));
  select.bind(1, seq);
  return one_event(select);
}

Expected<std::optional<Event>> Reader::last(EventKind kind) {
  AKO_TRY(Statement select,
          m_db.prepare(select_events("WHERE kind = ? ORDER BY seq DESC LIMIT 1")));
  select.bind(1, std::string_view(to_string(kind)));
  return one_event(select);
}

Status Reader::each(EventKind kind, const std::function<Status(const Event&)>& visit,
                    std::int64_t after) {
  AKO_TRY(Statement select, m_db.prepare(select_events("WHERE kind = ? AND seq > ? ORDER BY seq")));
  select.bind(1, std::string_view(to_string(kind))).bind(2, after);
  while (true) {
    AKO_TRY(std::optional<Event> event, one_event(select));
    if (!event) return {};
    AKO_TRY_STATUS(visit(*event));
  }
}

Expected<std::vector<IterationRow>> Reader::page(std::int64_t limit, std::int64_t before) {
  AKO_TRY(Statement select,
          m_db.prepare(select_rows("WHERE number < ? ORDER BY number DESC LIMIT ?")));
  select.bind(1, before > 0 ? before : INT64_MAX).bind(2, limit);
  AKO_TRY(std::vector<IterationRow> out, rows(select));
  std::reverse(out.begin(), out.end());
  return out;
}

Status Reader::each_row(const std::function<Status(const IterationRow&)>& visit) {
  AKO_TRY(Statement select, m_db.prepare(select_rows("ORDER BY number")));
  while (true) {
    AKO_TRY(const std::optional<IterationRow> row, one_row(select));
    if (!row) return {};
    AKO_TRY_STATUS(visit(*row));
  }
}

Expected<std::vector<IterationRow>> Reader::kept() {
  AKO_TRY(Statement select,
          m_db.prepare(select_rows("WHERE decision <> 'revert' ORDER BY number")));
  return rows(select);
}

Expected<std::optional<Recorded<Iteration>>> Reader::iteration(std::int64_t number) {
  AKO_TRY(Statement select, m_db.prepare(select_events(
                                "WHERE seq = (SELECT event FROM iteration_row WHERE number = ?)")));
  select.bind(1, number);
  AKO_TRY(std::optional<Event> event, one_event(select));
  if (!event) return std::optional<Recorded<Iteration>>{};
  AKO_TRY(Iteration payload, payload_from<Iteration>(event->payload));
  return std::optional<Recorded<Iteration>>({std::move(*event), std::move(payload)});
}

Expected<std::string> Reader::commit_of(std::int64_t number) {
  AKO_TRY(Statement select,
          m_db.prepare("SELECT json_extract(json, '$.commit') FROM event WHERE kind = 'committed' "
                       "AND json_extract(json, '$.iteration') = ? ORDER BY seq DESC LIMIT 1"));
  select.bind(1, number);
  AKO_TRY(const bool any, select.step());
  if (any) return select.text(0);
  AKO_TRY(const auto recorded, iteration(number));
  return recorded ? recorded->payload.commit : std::string();
}

Expected<std::optional<IterationRow>> Reader::with_snapshot(const base::Hash& snapshot) {
  AKO_TRY(Statement select,
          m_db.prepare(select_rows("WHERE snapshot = ? ORDER BY number DESC LIMIT 1")));
  select.bind(1, std::string_view(snapshot));
  return one_row(select);
}

Expected<std::vector<model::Sample>> Reader::samples(std::int64_t event) {
  AKO_TRY(Statement select, m_db.prepare(std::string("SELECT ") + k_sample_columns +
                                         " FROM sample WHERE event = ? ORDER BY rowid"));
  select.bind(1, event);
  std::vector<model::Sample> out;
  while (true) {
    AKO_TRY(const bool more, select.step());
    if (!more) return out;
    AKO_TRY(model::Sample sample, read_sample(select));
    out.push_back(sample);
  }
}

Expected<std::string> Reader::blob(const base::Hash& hash) {
  AKO_TRY(Statement select, m_db.prepare("SELECT bytes FROM blob WHERE hash = ?"));
  select.bind(1, std::string_view(hash));
  AKO_TRY(const bool any, select.step());
  if (!any)
    return fail(ErrorKind::invalid, "no such attachment is on record",
                {.where = m_path.string(),
                 .found = hash,
                 .allowed = "a hash named by an event",
                 .next = "run `ako verify`"});
  return std::string(select.blob(0));
}

} // namespace ako::ledger
