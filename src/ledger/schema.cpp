#include "ledger/schema.hpp"

#include "base/hash.hpp"
#include "base/time.hpp"
#include "ledger/rows.hpp"
#include "ledger/trouble.hpp"

#include <array>
#include <sys/random.h>

namespace ako::ledger {

using base::Database;
using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Statement;
using base::Status;

namespace {

constexpr const char* k_step_1 = R"sql(
CREATE TABLE schema_version(version INTEGER PRIMARY KEY, ts INTEGER NOT NULL);
CREATE TABLE origin(one INTEGER PRIMARY KEY CHECK(one = 1), id TEXT NOT NULL, ts INTEGER NOT NULL, path TEXT NOT NULL);
CREATE TABLE event(seq INTEGER PRIMARY KEY, prev TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, ts INTEGER NOT NULL,
                   kind TEXT NOT NULL, json TEXT NOT NULL);
CREATE TABLE blob(hash TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
CREATE TABLE sample(event INTEGER NOT NULL, shape INTEGER NOT NULL, placement INTEGER NOT NULL, pair INTEGER NOT NULL,
                    side INTEGER NOT NULL, "order" INTEGER NOT NULL, device_ns REAL NOT NULL, call_ns REAL,
                    calls INTEGER NOT NULL, flags INTEGER NOT NULL);
CREATE INDEX event_kind ON event(kind, seq);
CREATE INDEX sample_event ON sample(event);

CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER event_in_turn BEFORE INSERT ON event
  WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM event)
  BEGIN SELECT RAISE(ABORT, 'the ledger only grows at its end'); END;
CREATE TRIGGER blob_no_update BEFORE UPDATE ON blob BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER blob_no_delete BEFORE DELETE ON blob BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER blob_once BEFORE INSERT ON blob WHEN EXISTS (SELECT 1 FROM blob WHERE hash = NEW.hash)
  BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER sample_no_update BEFORE UPDATE ON sample BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER sample_no_delete BEFORE DELETE ON sample BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER sample_in_turn BEFORE INSERT ON sample
  WHEN NEW.event <> (SELECT coalesce(max(seq), 0) + 1 FROM event)
  BEGIN SELECT RAISE(ABORT, 'samples come with their event'); END;
CREATE TRIGGER origin_no_update BEFORE UPDATE ON origin BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER origin_no_delete BEFORE DELETE ON origin BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER origin_once BEFORE INSERT ON origin WHEN EXISTS (SELECT 1 FROM origin)
  BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER version_no_update BEFORE UPDATE ON schema_version BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER version_no_delete BEFORE DELETE ON schema_version BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
)sql";

// row_start: the iteration from which "not better in a row" is counted anew; NULL where nothing
// changes.
constexpr const char* k_step_2 = R"sql(
CREATE TABLE iteration_row(number INTEGER PRIMARY KEY, event INTEGER NOT NULL UNIQUE, ts INTEGER NOT NULL,
                           outcome TEXT NOT NULL, decision TEXT NOT NULL, explore INTEGER NOT NULL,
                           confirmed INTEGER NOT NULL, gain REAL, low REAL, high REAL,
                           base_gain REAL, base_low REAL, base_high REAL, snapshot TEXT NOT NULL, lane TEXT NOT NULL,
                           hypothesis TEXT NOT NULL, direction TEXT NOT NULL, row_start INTEGER);
CREATE INDEX iteration_outcome ON iteration_row(outcome, explore, number);
CREATE INDEX iteration_snapshot ON iteration_row(snapshot, number);
CREATE INDEX iteration_kept ON iteration_row(number) WHERE decision <> 'revert';
CREATE INDEX iteration_start ON iteration_row(row_start, event) WHERE row_start IS NOT NULL;
CREATE INDEX second_opinion_candidate ON event(json_extract(json, '$.candidate'), seq) WHERE kind = 'second_opinion';
CREATE INDEX committed_iteration ON event(json_extract(json, '$.iteration'), seq) WHERE kind = 'committed';
CREATE TRIGGER iteration_no_update BEFORE UPDATE ON iteration_row
  BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER iteration_no_delete BEFORE DELETE ON iteration_row
  BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER iteration_in_turn BEFORE INSERT ON iteration_row
  WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM iteration_row)
  BEGIN SELECT RAISE(ABORT, 'the ledger only grows at its end'); END;
)sql";

Expected<base::Hash> random_id() {
  std::array<char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail(ErrorKind::environment, "no random bytes from the system");
  return base::sha256(std::string_view(bytes.data(), bytes.size()));
}

} // namespace

std::string origin_mark(const base::Hash& id, const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, ignored);
  base::Hasher hasher;
  hasher.add_field(id).add_field((whole.empty() ? path : whole).string());
  return path.filename().string() + "#" + hasher.finish();
}

namespace {

Status record_origin(Database& db, const std::filesystem::path& path) {
  AKO_TRY(const base::Hash id, random_id());
  AKO_TRY(Statement insert, db.prepare("INSERT INTO origin(one, id, ts, path) VALUES(1, ?, ?, ?)"));
  insert.bind(1, std::string_view(id)).bind(2, base::wall_ns());
  const std::string text = origin_mark(id, path);
  insert.bind(3, std::string_view(text));
  return insert.run();
}

/// Version 2's derived rows for events that were there before it.
Status derive_rows(Database& db) {
  AKO_TRY(Statement select,
          db.prepare("SELECT seq, ts, json FROM event WHERE kind = 'iteration' ORDER BY seq"));
  std::string lane;
  while (true) {
    AKO_TRY(const bool more, select.step());
    if (!more) return {};
    AKO_TRY(const base::Json json, base::parse_json(select.text(2), "event"));
    AKO_TRY(const Iteration iteration, payload_from<Iteration>(json));
    const IterationRow row = row_of(iteration, select.integer(0), select.integer(1));
    AKO_TRY_STATUS(insert_row(db, row, row_start(row, lane)));
    lane = row.lane;
  }
}

Status record_version(Database& db, int version) {
  AKO_TRY(Statement insert, db.prepare("INSERT INTO schema_version(version, ts) VALUES(?, ?)"));
  insert.bind(1, std::int64_t{version}).bind(2, base::wall_ns());
  return insert.run();
}

Expected<std::int64_t> number_of(Database& db, std::string_view sql) {
  AKO_TRY(Statement select, db.prepare(sql));
  AKO_TRY(const bool row, select.step());
  return row ? select.integer(0) : 0;
}

} // namespace

const char* schema_step(int to) { return to == 1 ? k_step_1 : to == 2 ? k_step_2 : ""; }

Expected<int> schema_version(Database& db, const std::filesystem::path& path) {
  AKO_TRY(const std::int64_t tables, number_of(db, "SELECT count(*) FROM sqlite_master"));
  if (tables == 0) return 0;
  AKO_TRY(const std::int64_t ours, number_of(db, "PRAGMA application_id"));
  AKO_TRY(const std::int64_t versioned,
          number_of(db, "SELECT count(*) FROM sqlite_master WHERE name = 'schema_version'"));
  if (ours != k_application_id || versioned == 0)
    return fail(ErrorKind::invalid, "this database is not a ledger of ako's",
                {.where = path.string(),
                 .found = "an SQLite database with other tables",
                 .allowed = "a ledger",
                 .next = "name the ledger of the task"});
  AKO_TRY(const std::int64_t version, number_of(db, "SELECT max(version) FROM schema_version"));
  if (version > k_schema_version)
    return fail(ErrorKind::unsupported, "this ledger was written by a newer ako",
                {.where = path.string(),
                 .found = "schema version " + std::to_string(version),
                 .allowed = "up to " + std::to_string(k_schema_version),
                 .next = "use the ako that wrote it, or a newer one"});
  return static_cast<int>(version);
}

Status migrate(Database& db, int from, const std::filesystem::path& path, int target) {
  for (int to = from + 1; to <= target; ++to) {
    AKO_TRY_STATUS(db.exec(schema_step(to)));
    if (to == 1) {
      AKO_TRY_STATUS(db.exec("PRAGMA application_id = " + std::to_string(k_application_id)));
      AKO_TRY_STATUS(record_origin(db, path));
    }
    if (to == 2) AKO_TRY_STATUS(derive_rows(db));
    AKO_TRY_STATUS(record_version(db, to));
  }
  return {};
}

Expected<base::Hash> ledger_id(Database& db) {
  AKO_TRY(Statement select, db.prepare("SELECT id FROM origin"));
  AKO_TRY(const bool row, select.step());
  if (!row) return fail(ErrorKind::invalid, "the ledger has lost its id");
  return select.text(0);
}

} // namespace ako::ledger
