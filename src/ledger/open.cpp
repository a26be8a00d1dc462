#include "ledger/open.hpp"

#include "base/fs.hpp"
#include "base/time.hpp"
#include "ledger/schema.hpp"
#include "ledger/trouble.hpp"

#include <chrono>
#include <thread>
#include <unistd.h>

namespace ako::ledger {

using base::Database;
using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;
using base::Transaction;

namespace {

constexpr int k_busy_ms = 60000;
constexpr double k_patience_seconds = 60;
constexpr auto k_retry_pause = std::chrono::milliseconds(5);

/// SQLite does not wait by itself while another process switches the file to its log or recovers
/// it.
template <class Try> Status patiently(Try attempt) {
  const base::Deadline deadline = base::Deadline::after_seconds(k_patience_seconds);
  while (true) {
    Status status = attempt();
    if (status || status.error().kind != ErrorKind::timeout || deadline.passed()) return status;
    std::this_thread::sleep_for(k_retry_pause);
  }
}

Status use_log(Database& db) {
  AKO_TRY(base::Statement pragma, db.prepare("PRAGMA journal_mode = WAL"));
  AKO_TRY(const bool row, pragma.step());
  if (row && pragma.text(0) == "wal") return {};
  return fail(ErrorKind::environment, "the ledger's file system does not carry a write-ahead log",
              {.where = {},
               .found = row ? pragma.text(0) : "nothing",
               .allowed = "wal",
               .next = "keep the repository on a local disk"});
}

Status bring_up_to_date(Database& db, const std::filesystem::path& path) {
  AKO_TRY(const int seen, schema_version(db, path));
  if (seen == k_schema_version) return {};
  AKO_TRY(Transaction transaction, Transaction::begin(db));
  // Another process may have been here since.
  AKO_TRY(const int from, schema_version(db, path));
  AKO_TRY_STATUS(migrate(db, from, path));
  return transaction.commit();
}

std::filesystem::path full_path(const std::filesystem::path& path) {
  return std::filesystem::absolute(path).lexically_normal();
}

/// Percent-encodes what has a meaning in SQLite's file names of the form file:...?...
std::string uri(const std::filesystem::path& path) {
  std::string out = "file:";
  for (const char c : path.string())
    if (c == '%' || c == '?' || c == '#') {
      constexpr const char* k_hex = "0123456789abcdef";
      out += '%';
      out += k_hex[static_cast<unsigned char>(c) >> 4];
      out += k_hex[static_cast<unsigned char>(c) & 15];
    } else {
      out += c;
    }
  return out + "?immutable=1";
}

bool can_write_beside(const std::filesystem::path& path) {
  return ::access(path.parent_path().c_str(), W_OK) == 0 && ::access(path.c_str(), W_OK) == 0;
}

Expected<Database> open_unwritable(const std::filesystem::path& path) {
  std::error_code error;
  const auto log = std::filesystem::file_size(path.string() + "-wal", error);
  if (!error && log > 0)
    return fail(ErrorKind::environment,
                "the ledger cannot be read here: its log holds events that must be merged first",
                {.where = path.string() + "-wal",
                 .found = std::to_string(log) + " bytes in a folder that cannot be written",
                 .allowed = "a folder that can be written, or no log",
                 .next = "copy the ledger with its -wal file and read the copy"});
  AKO_TRY(Database db, Database::open(uri(path), Database::Mode::read_only));
  AKO_TRY(const int version, schema_version(db, path));
  if (version != k_schema_version)
    return fail(ErrorKind::environment,
                "this ledger has an older form and cannot be rewritten here",
                {.where = path.string(),
                 .found = "schema version " + std::to_string(version),
                 .allowed = std::to_string(k_schema_version),
                 .next = "copy it to a folder that can be written and read the copy"});
  return db;
}

} // namespace

Expected<Database> open_for_writing(const std::filesystem::path& given, Creation creation) {
  const std::filesystem::path path = full_path(given);
  AKO_TRY_STATUS(refuse_network(path, base::on_network_file_system));
  if (creation == Creation::allowed) AKO_TRY_STATUS(base::make_dirs(path.parent_path()));
  else AKO_TRY_STATUS(check_existing(path));
  const auto explained = [&](const base::Error& error) {
    return tl::unexpected(explain(error, path));
  };
  auto db = Database::open(
      path, creation == Creation::allowed ? Database::Mode::create : Database::Mode::read_write,
      k_busy_ms);
  if (!db) return explained(db.error());
  // Someone else's database must not be switched to our log: its version is looked at first.
  Status ready = patiently([&]() -> Status {
    AKO_TRY_STATUS(schema_version(*db, path).map([](int) {}));
    AKO_TRY_STATUS(use_log(*db));
    AKO_TRY_STATUS(db->exec("PRAGMA synchronous = FULL"));
    return bring_up_to_date(*db, path);
  });
  if (!ready) return explained(ready.error());
  return std::move(*db);
}

Expected<Database> open_for_reading(const std::filesystem::path& given) {
  const std::filesystem::path path = full_path(given);
  AKO_TRY_STATUS(refuse_network(path, base::on_network_file_system));
  AKO_TRY_STATUS(check_existing(path));
  const auto explained = [&](const base::Error& error) {
    return tl::unexpected(explain(error, path));
  };
  if (!can_write_beside(path)) {
    auto db = open_unwritable(path);
    if (!db) return explained(db.error());
    return db;
  }
  auto db = Database::open(path, Database::Mode::read_only, k_busy_ms);
  if (!db) return explained(db.error());
  int version = 0;
  Status looked = patiently([&]() -> Status {
    AKO_TRY(version, schema_version(*db, path));
    return {};
  });
  if (!looked) return explained(looked.error());
  if (version == k_schema_version) return std::move(*db);
  AKO_TRY(Database writable, open_for_writing(path, Creation::refused));
  static_cast<void>(writable);
  return std::move(*db);
}

} // namespace ako::ledger
