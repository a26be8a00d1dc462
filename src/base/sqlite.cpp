#include "base/sqlite.hpp"

#include <cmath>
#include <fmt/format.h>
#include <sqlite3.h>
#include <utility>

namespace ako::base {

namespace {

ErrorKind kind_of_code(int code) {
  switch (code & 0xff) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED: return ErrorKind::timeout;
  case SQLITE_FULL:
  case SQLITE_READONLY:
  case SQLITE_PERM:
  case SQLITE_CANTOPEN:
  case SQLITE_AUTH:
  case SQLITE_NOMEM: return ErrorKind::environment;
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_CONSTRAINT:
  case SQLITE_MISMATCH:
  case SQLITE_SCHEMA:
  case SQLITE_TOOBIG: return ErrorKind::invalid;
  case SQLITE_IOERR: return ErrorKind::io;
  case SQLITE_INTERRUPT: return ErrorKind::interrupted;
  default: return ErrorKind::internal;
  }
}

const char* message_of(int code) {
  switch (code & 0xff) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED: return "the database is held by another process";
  case SQLITE_FULL: return "there is no space left for the database";
  case SQLITE_READONLY:
  case SQLITE_PERM: return "the database cannot be written";
  case SQLITE_CANTOPEN: return "the database cannot be opened";
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB: return "this is no sound database";
  case SQLITE_CONSTRAINT: return "a row breaks a rule of the database";
  case SQLITE_IOERR: return "reading or writing the database failed";
  default: return "the database refused a statement";
  }
}

const char* next_of(int code) {
  switch (code & 0xff) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED: return "wait for the other process or end it";
  case SQLITE_FULL: return "free disk space and repeat";
  case SQLITE_READONLY:
  case SQLITE_PERM:
  case SQLITE_CANTOPEN: return "check the folder's permissions";
  default: return "";
  }
}

tl::unexpected<Error> refused(int code, const char* detail, std::string where) {
  return fail(kind_of_code(code), message_of(code),
              {.where = std::move(where),
               .found = fmt::format("{} (code {})", detail != nullptr ? detail : "?", code),
               .allowed = {},
               .next = next_of(code)});
}

tl::unexpected<Error> refused(sqlite3* db, int code) {
  const char* file = sqlite3_db_filename(db, "main");
  // The connection's message belongs to its last call; it is used only where that is this one.
  const bool same = sqlite3_extended_errcode(db) == code;
  return refused(code, same ? sqlite3_errmsg(db) : sqlite3_errstr(code),
                 file != nullptr && *file != '\0' ? file : "database in memory");
}

int open_flags(Database::Mode mode) {
  switch (mode) {
  case Database::Mode::read_only: return SQLITE_OPEN_READONLY;
  case Database::Mode::read_write: return SQLITE_OPEN_READWRITE;
  case Database::Mode::create: return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return SQLITE_OPEN_READONLY;
}

} // namespace

Statement::Statement(Statement&& other) noexcept
    : m_db(other.m_db), m_statement(std::exchange(other.m_statement, nullptr)),
      m_bind_error(other.m_bind_error) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this != &other) {
    sqlite3_finalize(m_statement);
    m_db = other.m_db;
    m_statement = std::exchange(other.m_statement, nullptr);
    m_bind_error = other.m_bind_error;
  }
  return *this;
}

Statement::~Statement() { sqlite3_finalize(m_statement); }

Statement& Statement::bound(int code) {
  AKO_CHECK(code != SQLITE_RANGE && code != SQLITE_MISUSE,
            "a parameter that the SQL does not have");
  if (m_bind_error == SQLITE_OK) m_bind_error = code;
  return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
  return bound(sqlite3_bind_int64(m_statement, index, value));
}

Statement& Statement::bind(int index, double value) {
  if (!std::isfinite(value)) return bind_null(index);
  return bound(sqlite3_bind_double(m_statement, index, value));
}

Statement& Statement::bind(int index, std::string_view text) {
  const char* data = text.data() != nullptr ? text.data() : "";
  return bound(
      sqlite3_bind_text64(m_statement, index, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

Statement& Statement::bind_blob(int index, std::span<const std::byte> bytes) {
  if (bytes.empty()) return bound(sqlite3_bind_zeroblob(m_statement, index, 0));
  return bound(
      sqlite3_bind_blob64(m_statement, index, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
}

Statement& Statement::bind_null(int index) { return bound(sqlite3_bind_null(m_statement, index)); }

Expected<bool> Statement::step() {
  AKO_CHECK(m_statement != nullptr, "a statement that was moved away");
  if (m_bind_error != SQLITE_OK) return refused(m_db, m_bind_error);
  const int code = sqlite3_step(m_statement);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return refused(m_db, code);
}

Status Statement::run() {
  auto more = step();
  while (more && *more) more = step();
  reset();
  if (!more) return tl::unexpected(more.error());
  return {};
}

void Statement::reset() {
  sqlite3_reset(m_statement);
  sqlite3_clear_bindings(m_statement);
  m_bind_error = SQLITE_OK;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(m_statement, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(m_statement, column);
}

double Statement::real(int column) const { return sqlite3_column_double(m_statement, column); }

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(m_statement, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(m_statement, column))};
}

std::string_view Statement::blob(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(m_statement, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(m_statement, column))};
}

Expected<Database> Database::open(const std::filesystem::path& path, Mode mode, int busy_ms) {
  Database db;
  db.m_where = path.string();
  const int code = sqlite3_open_v2(path.c_str(), &db.m_db, open_flags(mode), nullptr);
  if (code != SQLITE_OK)
    return refused(code, db.m_db != nullptr ? sqlite3_errmsg(db.m_db) : sqlite3_errstr(code),
                   db.m_where);
  sqlite3_extended_result_codes(db.m_db, 1);
  sqlite3_busy_timeout(db.m_db, busy_ms);
  return db;
}

Database::Database(Database&& other) noexcept
    : m_db(std::exchange(other.m_db, nullptr)), m_where(std::move(other.m_where)) {}

Database& Database::operator=(Database&& other) noexcept {
  if (this != &other) {
    sqlite3_close_v2(m_db);
    m_db = std::exchange(other.m_db, nullptr);
    m_where = std::move(other.m_where);
  }
  return *this;
}

Database::~Database() { sqlite3_close_v2(m_db); } // statements still alive keep it open

Status Database::exec(std::string_view sql) {
  const int code = sqlite3_exec(m_db, std::string(sql).c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return refused(code, sqlite3_errmsg(m_db), m_where);
  return {};
}

Expected<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(m_db, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return refused(code, sqlite3_errmsg(m_db), m_where);
  if (statement == nullptr)
    return fail(ErrorKind::internal, "an empty statement",
                {.where = m_where, .found = std::string(sql), .allowed = {}, .next = {}});
  return Statement(m_db, statement);
}

std::int64_t Database::last_row_id() const { return sqlite3_last_insert_rowid(m_db); }

std::int64_t Database::changes() const { return sqlite3_changes(m_db); }

Expected<Transaction> Transaction::begin(Database& db) {
  AKO_TRY_STATUS(db.exec("BEGIN IMMEDIATE"));
  return Transaction(db);
}

Transaction::Transaction(Transaction&& other) noexcept : m_db(std::exchange(other.m_db, nullptr)) {}

Transaction::~Transaction() {
  if (m_db == nullptr) return;
  // SQLite ends a transaction by itself on some errors; then there is nothing to undo.
  if (sqlite3_get_autocommit(m_db->raw()) == 0) static_cast<void>(m_db->exec("ROLLBACK"));
}

Status Transaction::commit() {
  AKO_CHECK(m_db != nullptr, "a transaction that has ended");
  AKO_TRY_STATUS(m_db->exec("COMMIT"));
  m_db = nullptr;
  return {};
}

} // namespace ako::base
