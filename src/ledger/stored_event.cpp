#include "ledger/stored_event.hpp"

#include "ledger/fields.hpp"

namespace ako::ledger {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;

Expected<Attached> take_attached(Json& json) {
  Attached attached;
  const auto blob = [](const Json& each) -> Expected<BlobRef> {
    BlobRef ref;
    return Fields(each, "blobs")
        .read("name", ref.name)
        .read("hash", ref.hash)
        .read("bytes", ref.bytes)
        .finish(ref);
  };
  const auto samples = [&](const Json& each) -> Expected<std::int64_t> {
    std::int64_t rows = 0;
    return Fields(each, "samples")
        .read("rows", rows)
        .read("hash", attached.sample_hash)
        .finish(rows);
  };
  AKO_TRY(attached, Fields(json, "event")
                        .list("blobs", attached.blobs, blob)
                        .object("samples", attached.sample_rows, samples)
                        .finish(attached));
  json.erase("blobs");
  json.erase("samples");
  return attached;
}

Expected<Event> read_event(const base::Statement& row) {
  Event event;
  event.seq = row.integer(0);
  event.prev = row.text(1);
  event.hash = row.text(2);
  event.ts_ns = row.integer(3);
  const std::string where = "event " + std::to_string(event.seq);
  const auto kind = kind_from(row.text(4));
  if (!kind)
    return fail(ErrorKind::invalid, "an event on record is of an unknown kind",
                {.where = where,
                 .found = row.text(4),
                 .allowed = "the kinds of this ako",
                 .next = "run `ako verify`"});
  event.kind = *kind;
  AKO_TRY(event.payload, base::parse_json(row.text(5), where));
  AKO_TRY(Attached attached, take_attached(event.payload));
  event.blobs = std::move(attached.blobs);
  event.sample_rows = attached.sample_rows;
  return event;
}

} // namespace ako::ledger
