// What stands now, from indexes alone: its cost does not grow with the samples and hardly with the
// iterations.
#include "ledger/queries.hpp"

#include "ledger/rows.hpp"
#include "ledger/schema.hpp"

namespace ako::ledger {

using base::Database;
using base::Expected;
using base::Statement;
using base::Status;

namespace {

Expected<std::optional<std::int64_t>> number(Statement& select) {
  AKO_TRY(const bool any, select.step());
  if (!any || select.is_null(0)) return std::optional<std::int64_t>{};
  return std::optional<std::int64_t>(select.integer(0));
}

Expected<std::optional<std::int64_t>> number(Database& db, std::string_view sql) {
  AKO_TRY(Statement select, db.prepare(sql));
  return number(select);
}

Expected<std::optional<std::int64_t>> last_of(Database& db, EventKind kind) {
  AKO_TRY(Statement select, db.prepare("SELECT max(seq) FROM event WHERE kind = ?"));
  select.bind(1, std::string_view(to_string(kind)));
  return number(select);
}

Expected<std::optional<IterationRow>> row(Database& db, std::string_view rest) {
  AKO_TRY(Statement select, db.prepare(std::string("SELECT ") + k_row_columns +
                                       " FROM iteration_row " + std::string(rest)));
  AKO_TRY(const bool any, select.step());
  if (!any) return std::optional<IterationRow>{};
  AKO_TRY(IterationRow found, read_row(select));
  return std::optional<IterationRow>(std::move(found));
}

Status read_ends(Database& db, Standing& out) {
  AKO_TRY(Statement select,
          db.prepare("SELECT seq, hash, ts FROM event ORDER BY seq DESC LIMIT 1"));
  AKO_TRY(const bool any, select.step());
  if (any) {
    out.events = select.integer(0);
    out.head = select.text(1);
    out.last_ts_ns = select.integer(2);
  } else {
    AKO_TRY(out.head, ledger_id(db));
  }
  AKO_TRY(Statement waivers, db.prepare("SELECT count(*) FROM event WHERE kind = 'waiver'"));
  AKO_TRY(const auto count, number(waivers));
  out.waivers = count.value_or(0);
  return {};
}

Status read_iterations(Database& db, Standing& out) {
  AKO_TRY(out.last, row(db, "ORDER BY number DESC LIMIT 1"));
  AKO_TRY(out.incumbent, row(db, "WHERE decision <> 'revert' ORDER BY number DESC LIMIT 1"));
  out.iterations = out.last ? out.last->number : 0;
  AKO_TRY(Statement counts,
          db.prepare("SELECT outcome, count(*) FROM iteration_row GROUP BY outcome"));
  while (true) {
    AKO_TRY(const bool more, counts.step());
    if (!more) return {};
    out.outcomes[counts.text(0)] = counts.integer(1);
  }
}

Status read_stall(Database& db, Standing& out) {
  AKO_TRY(const auto start, number(db, "SELECT max(row_start) FROM iteration_row "
                                       "WHERE row_start IS NOT NULL"));
  AKO_TRY(const auto turned, number(db, "SELECT json_extract(json, '$.after_iteration') FROM event "
                                        "WHERE kind = 'direction' ORDER BY seq DESC LIMIT 1"));
  const std::int64_t from = std::max(start.value_or(1), turned.value_or(0) + 1);
  AKO_TRY(Statement count,
          db.prepare("SELECT count(*) FROM iteration_row WHERE outcome IN ('equivalent', "
                     "'regressed', 'undecided') AND explore = 0 AND number >= ?"));
  count.bind(1, from);
  AKO_TRY(const auto in_a_row, number(count));
  out.not_better_in_a_row = in_a_row.value_or(0);

  AKO_TRY(const auto stall, last_of(db, EventKind::stall));
  AKO_TRY(const auto direction, last_of(db, EventKind::direction));
  AKO_TRY(const auto step, number(db, "SELECT max(event) FROM iteration_row "
                                      "WHERE row_start IS NOT NULL"));
  if (stall && *stall > std::max(direction.value_or(0), step.value_or(0))) out.stall_event = stall;
  return {};
}

} // namespace

Expected<Standing> Reader::standing() {
  Standing out;
  AKO_TRY_STATUS(m_db.exec("BEGIN")); // one moment for all questions
  const auto read = [&]() -> Status {
    AKO_TRY_STATUS(read_ends(m_db, out));
    AKO_TRY_STATUS(read_iterations(m_db, out));
    AKO_TRY_STATUS(read_stall(m_db, out));
    AKO_TRY(out.baseline_event, last_of(m_db, EventKind::baseline));
    AKO_TRY(out.contract_event, last_of(m_db, EventKind::contract));
    AKO_TRY(out.self_test_event, last_of(m_db, EventKind::self_test));
    AKO_TRY(out.references_event, last_of(m_db, EventKind::references_read));
    AKO_TRY(out.environment_event, last_of(m_db, EventKind::environment));
    if (!out.incumbent) return {};
    AKO_TRY(Statement opinion,
            m_db.prepare("SELECT max(seq) FROM event WHERE kind = 'second_opinion' AND "
                         "json_extract(json, '$.candidate') = ?"));
    opinion.bind(1, std::string_view(out.incumbent->snapshot));
    AKO_TRY(out.second_opinion_event, number(opinion));
    return {};
  };
  const Status status = read();
  AKO_TRY_STATUS(m_db.exec("COMMIT"));
  if (!status) return tl::unexpected(status.error());
  return out;
}

} // namespace ako::ledger
