#include "ledger/writer.hpp"

#include "base/time.hpp"
#include "ledger/open.hpp"
#include "ledger/rows.hpp"
#include "ledger/samples.hpp"
#include "ledger/schema.hpp"
#include "ledger/trouble.hpp"
#include "ledger/wal.hpp"

namespace ako::ledger {

using base::Database;
using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;
using base::Statement;
using base::Status;
using base::Transaction;

namespace {

struct Head {
  std::int64_t seq = 0;
  base::Hash hash;
};

Expected<Head> head_of(Database& db) {
  AKO_TRY(Statement select, db.prepare("SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1"));
  AKO_TRY(const bool row, select.step());
  if (row) return Head{select.integer(0), select.text(1)};
  AKO_TRY(const base::Hash id, ledger_id(db));
  return Head{0, id};
}

Status insert_blob(Database& db, const base::Hash& hash, std::string_view bytes) {
  AKO_TRY(Statement known, db.prepare("SELECT 1 FROM blob WHERE hash = ?"));
  known.bind(1, std::string_view(hash));
  AKO_TRY(const bool there, known.step());
  if (there) return {};
  AKO_TRY(Statement insert, db.prepare("INSERT INTO blob(hash, bytes) VALUES(?, ?)"));
  insert.bind(1, std::string_view(hash));
  insert.bind_blob(2, std::as_bytes(std::span(bytes.data(), bytes.size())));
  return insert.run();
}

Status check_event(const NewEvent& event) {
  AKO_CHECK(event.payload.is_object() && !event.payload.contains("blobs") &&
                !event.payload.contains("samples"),
            "a payload is an object and leaves blobs and samples to the ledger");
  for (const Attachment& each : event.blobs)
    if (each.bytes.size() > k_max_blob_bytes)
      return fail(ErrorKind::invalid, "an attachment is too large for the ledger",
                  {.where = each.name,
                   .found = std::to_string(each.bytes.size()) + " bytes",
                   .allowed = "up to " + std::to_string(k_max_blob_bytes),
                   .next = "keep it as a file and record its hash"});
  return check_samples(event.samples);
}

/// The payload with its attachments named by content.
Expected<std::string> store_attachments(Database& db, std::int64_t seq, const NewEvent& event) {
  Json json = event.payload;
  if (!event.blobs.empty()) {
    Json blobs = Json::array();
    for (const Attachment& each : event.blobs) {
      const base::Hash hash = base::sha256(std::string_view(each.bytes));
      AKO_TRY_STATUS(insert_blob(db, hash, each.bytes));
      blobs.push_back({{"name", each.name}, {"hash", hash}, {"bytes", each.bytes.size()}});
    }
    json["blobs"] = std::move(blobs);
  }
  if (!event.samples.empty()) {
    AKO_TRY_STATUS(insert_samples(db, seq, event.samples));
    json["samples"] = {{"rows", event.samples.size()}, {"hash", sample_hash(event.samples)}};
  }
  return base::dump_json(json);
}

/// `json` as it will be read back, so that the derived row never differs from a later derivation.
Status derive_row(Database& db, std::string_view json, std::int64_t seq, std::int64_t ts) {
  AKO_TRY(const Json parsed, base::parse_json(json, "iteration"));
  AKO_TRY(const Iteration iteration, payload_from<Iteration>(parsed));
  AKO_TRY(Statement before,
          db.prepare("SELECT number, lane FROM iteration_row ORDER BY number DESC LIMIT 1"));
  AKO_TRY(const bool any, before.step());
  const std::int64_t last = any ? before.integer(0) : 0;
  if (iteration.number != last + 1)
    return fail(ErrorKind::refused, "another iteration went on record in the meantime",
                {.where = "iteration " + std::to_string(iteration.number),
                 .found = "the last one on record is " + std::to_string(last),
                 .allowed = std::to_string(last + 1),
                 .next = "run the command again against the incumbent of now"});
  const IterationRow row = row_of(iteration, seq, ts);
  return insert_row(db, row, row_start(row, any ? before.text(1) : std::string()));
}

} // namespace

base::Hash event_hash(std::int64_t seq, std::string_view prev, std::int64_t ts_ns,
                      std::string_view kind, std::string_view json) {
  return base::Hasher()
      .add_field("ako event 1")
      .add_field(std::to_string(seq))
      .add_field(prev)
      .add_field(std::to_string(ts_ns))
      .add_field(kind)
      .add_field(json)
      .finish();
}

Expected<Writer> Writer::open(const std::filesystem::path& path, Open mode) {
  AKO_TRY(Database db,
          open_for_writing(path, mode == Open::create ? Creation::allowed : Creation::refused));
  Writer writer(std::move(db), std::filesystem::absolute(path).lexically_normal());
  if (Status status = writer.recover(); !status)
    return tl::unexpected(explain(std::move(status).error(), writer.m_path));
  return writer;
}

Expected<Appended> Writer::append(const NewEvent& event) {
  AKO_TRY_STATUS(check_event(event));
  // Each failure is explained; the transaction's end undoes whatever had been written.
  auto transaction = Transaction::begin(m_db);
  if (!transaction) return tl::unexpected(explain(std::move(transaction).error(), m_path));
  auto appended = append_in_transaction(event);
  if (!appended) {
    m_left_over = true;
    return tl::unexpected(explain(std::move(appended).error(), m_path));
  }
  if (Status committed = transaction->commit(); !committed) {
    m_left_over = true;
    return tl::unexpected(explain(std::move(committed).error(), m_path));
  }
  // What an append that failed had written to the log must not look like a cut one later.
  if (m_left_over) m_left_over = !m_db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return appended;
}

Expected<Appended> Writer::append_in_transaction(const NewEvent& event) {
  AKO_TRY(const Head head, head_of(m_db));
  const std::int64_t seq = head.seq + 1, ts = base::wall_ns();
  const std::string kind = to_string(event.kind);
  AKO_TRY(const std::string json, store_attachments(m_db, seq, event));
  const base::Hash hash = event_hash(seq, head.hash, ts, kind, json);
  AKO_TRY(Statement insert,
          m_db.prepare("INSERT INTO event(seq, prev, hash, ts, kind, json) VALUES(?,?,?,?,?,?)"));
  insert.bind(1, seq).bind(2, std::string_view(head.hash)).bind(3, std::string_view(hash));
  insert.bind(4, ts).bind(5, std::string_view(kind)).bind(6, std::string_view(json));
  AKO_TRY_STATUS(insert.run());
  if (event.kind == EventKind::iteration) AKO_TRY_STATUS(derive_row(m_db, json, seq, ts));
  return Appended{seq, hash};
}

Status Writer::recover() {
  AKO_TRY(Transaction lock, Transaction::begin(m_db)); // nobody is writing while we look
  AKO_TRY(const WalTail tail, inspect_wal(m_path));
  if (tail.loose_bytes == 0) return {};
  m_recovery =
      "an append was cut off before it was on record: " + std::to_string(tail.loose_bytes) +
      " bytes of it were dropped; all earlier events are intact";
  const Interrupted note{"append", *m_recovery, 0};
  AKO_TRY_STATUS(append_in_transaction({EventKind::interrupted, to_json(note), {}, {}})
                     .map([](const Appended&) {}));
  AKO_TRY_STATUS(lock.commit());
  // With the log emptied the same remains are not reported twice; readers may hold it, which is no
  // harm.
  static_cast<void>(m_db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  return {};
}

} // namespace ako::ledger
