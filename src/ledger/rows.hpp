// The derived table of iterations: one short row each, so that status and log need not parse whole
// events.
#pragma once

#include "ledger/queries.hpp"

namespace ako::ledger {

inline constexpr const char* k_row_columns = "number, event, ts, outcome, decision, explore, "
                                             "confirmed, gain, low, high, base_gain, base_low, "
                                             "base_high, snapshot, lane, hypothesis, direction";

IterationRow row_of(const Iteration& iteration, std::int64_t event, std::int64_t ts_ns);

/// From which iteration "not better in a row" is counted anew because of this one: itself when it
/// brings a direction or another lane, the next when it improved.
std::optional<std::int64_t> row_start(const IterationRow& row, const std::string& lane_before);

base::Status insert_row(base::Database& db, const IterationRow& row,
                        std::optional<std::int64_t> start);

/// Reads a row whose first columns are k_row_columns.
base::Expected<IterationRow> read_row(const base::Statement& row);

} // namespace ako::ledger
