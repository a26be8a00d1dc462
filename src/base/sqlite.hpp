// SQLite with errors as values.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace ako::base {

class Statement {
public:
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) noexcept;
  ~Statement();
  Statement& bind(int index, std::int64_t value); ///< index from 1
  Statement& bind(int index, double value);       ///< non-finite = NULL
  Statement& bind(int index, std::string_view text);
  Statement& bind_blob(int index, std::span<const std::byte> bytes);
  Statement& bind_null(int index);
  Expected<bool> step(); ///< true: a row stands ready
  Status run();          ///< steps to the end and resets, bindings cleared
  void reset();
  bool is_null(int column) const; ///< column from 0
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::string_view blob(int column) const; ///< valid until the next step

private:
  friend class Database;
  Statement(sqlite3* db, sqlite3_stmt* statement) : m_db(db), m_statement(statement) {}
  Statement& bound(int code);
  sqlite3* m_db = nullptr;
  sqlite3_stmt* m_statement = nullptr;
  int m_bind_error = 0; ///< the first bind that failed; step() answers with it
};

class Database {
public:
  enum class Mode { read_only, read_write, create };
  /// Busy writers are waited for `busy_ms`.
  static Expected<Database> open(const std::filesystem::path& path, Mode mode, int busy_ms = 30000);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();
  Status exec(std::string_view sql); ///< one or several statements without results
  Expected<Statement> prepare(std::string_view sql);
  std::int64_t last_row_id() const;
  std::int64_t changes() const;
  sqlite3* raw() const { return m_db; }

private:
  Database() = default;
  sqlite3* m_db = nullptr;
  std::string m_where;
};

/// BEGIN IMMEDIATE now; rolled back by the destructor unless committed.
class Transaction {
public:
  static Expected<Transaction> begin(Database& db);
  Transaction(Transaction&&) noexcept;
  ~Transaction();
  Status commit();

private:
  explicit Transaction(Database& db) : m_db(&db) {}
  Database* m_db;
};

} // namespace ako::base
