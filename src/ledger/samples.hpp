// Rows of the sample table.
#pragma once

#include "base/sqlite.hpp"
#include "model/samples.hpp"

#include <span>

namespace ako::ledger {

inline constexpr const char* k_sample_columns =
    "shape, placement, pair, side, \"order\", device_ns, call_ns, calls, flags";

/// Times must be finite (call_ns may be absent as NaN); kind invalid names the first row that is
/// not.
base::Status check_samples(std::span<const model::Sample> rows);

base::Status insert_samples(base::Database& db, std::int64_t event,
                            std::span<const model::Sample> rows);

/// Of a row whose columns are k_sample_columns.
base::Expected<model::Sample> read_sample(const base::Statement& row);

} // namespace ako::ledger
