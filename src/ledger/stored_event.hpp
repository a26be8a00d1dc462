// An event as it lies in its table.
#pragma once

#include "ledger/queries.hpp"

namespace ako::ledger {

inline constexpr const char* k_event_columns = "seq, prev, hash, ts, kind, json";

/// Of a row whose columns are k_event_columns.
base::Expected<Event> read_event(const base::Statement& row);

/// Takes "blobs" and "samples" out of an event's JSON.
struct Attached {
  std::vector<BlobRef> blobs;
  std::int64_t sample_rows = 0;
  base::Hash sample_hash;
};
base::Expected<Attached> take_attached(base::Json& json);

} // namespace ako::ledger
