#include "ledger/rows.hpp"

#include <cmath>

namespace ako::ledger {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Statement;
using base::Status;

namespace {

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

void bind(Statement& statement, int index, const std::optional<double>& value) {
  if (value) statement.bind(index, *value);
  else statement.bind_null(index);
}

std::optional<double> column(const Statement& row, int index) {
  return row.is_null(index) ? std::nullopt : std::optional<double>(row.real(index));
}

/// Only where both sides were timed is there a gain; an incorrect candidate has none.
bool has_gain(const model::Verdict& verdict) {
  using model::OutcomeKind;
  const OutcomeKind kind = verdict.outcome.kind;
  return kind == OutcomeKind::improved || kind == OutcomeKind::equivalent ||
         kind == OutcomeKind::regressed || kind == OutcomeKind::undecided;
}

} // namespace

IterationRow row_of(const Iteration& iteration, std::int64_t event, std::int64_t ts_ns) {
  IterationRow row;
  row.number = iteration.number;
  row.event = event;
  row.ts_ns = ts_ns;
  row.outcome = iteration.verdict.outcome.kind;
  row.decision = iteration.decision;
  row.explore = iteration.explore;
  row.confirmed = iteration.verdict.confirmed;
  if (has_gain(iteration.verdict)) {
    row.gain = finite(iteration.verdict.gain);
    row.low = finite(iteration.verdict.interval.low);
    row.high = finite(iteration.verdict.interval.high);
  }
  if (iteration.versus_baseline && has_gain(*iteration.versus_baseline)) {
    row.base_gain = finite(iteration.versus_baseline->gain);
    row.base_low = finite(iteration.versus_baseline->interval.low);
    row.base_high = finite(iteration.versus_baseline->interval.high);
  }
  row.snapshot = iteration.snapshot.hash;
  row.lane = iteration.lane;
  row.hypothesis = iteration.hypothesis;
  row.direction = iteration.direction;
  return row;
}

std::optional<std::int64_t> row_start(const IterationRow& row, const std::string& lane_before) {
  if (row.outcome == model::OutcomeKind::improved) return row.number + 1;
  const bool other_lane = !lane_before.empty() && row.lane != lane_before;
  if (!row.direction.empty() || other_lane) return row.number;
  return std::nullopt;
}

Status insert_row(base::Database& db, const IterationRow& row, std::optional<std::int64_t> start) {
  AKO_TRY(Statement insert, db.prepare(std::string("INSERT INTO iteration_row(") + k_row_columns +
                                       ", row_start) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  insert.bind(1, row.number).bind(2, row.event).bind(3, row.ts_ns);
  insert.bind(4, std::string_view(model::to_string(row.outcome)));
  insert.bind(5, std::string_view(model::to_string(row.decision)));
  insert.bind(6, std::int64_t{row.explore == Explore::yes});
  insert.bind(7, std::int64_t{row.confirmed});
  bind(insert, 8, row.gain);
  bind(insert, 9, row.low);
  bind(insert, 10, row.high);
  bind(insert, 11, row.base_gain);
  bind(insert, 12, row.base_low);
  bind(insert, 13, row.base_high);
  insert.bind(14, std::string_view(row.snapshot)).bind(15, std::string_view(row.lane));
  insert.bind(16, std::string_view(row.hypothesis)).bind(17, std::string_view(row.direction));
  if (start) insert.bind(18, *start);
  else insert.bind_null(18);
  return insert.run();
}

Expected<IterationRow> read_row(const Statement& from) {
  IterationRow row;
  row.number = from.integer(0);
  row.event = from.integer(1);
  row.ts_ns = from.integer(2);
  const auto outcome = model::outcome_from(from.text(3));
  const auto decision = model::decision_from(from.text(4));
  if (!outcome || !decision)
    return fail(ErrorKind::invalid, "an iteration on record has an unknown outcome or decision",
                {.where = "iteration " + std::to_string(row.number),
                 .found = from.text(3) + ", " + from.text(4),
                 .allowed = "the outcomes and decisions of this ako",
                 .next = "run `ako verify`"});
  row.outcome = *outcome;
  row.decision = *decision;
  row.explore = from.integer(5) != 0 ? Explore::yes : Explore::no;
  row.confirmed = from.integer(6) != 0;
  row.gain = column(from, 7);
  row.low = column(from, 8);
  row.high = column(from, 9);
  row.base_gain = column(from, 10);
  row.base_low = column(from, 11);
  row.base_high = column(from, 12);
  row.snapshot = from.text(13);
  row.lane = from.text(14);
  row.hypothesis = from.text(15);
  row.direction = from.text(16);
  return row;
}

} // namespace ako::ledger
