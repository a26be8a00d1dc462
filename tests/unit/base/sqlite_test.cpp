#include "base/sqlite.hpp"

#include "base/fs.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::base {
namespace {

class Sqlite : public testing::Test {
protected:
  TemporaryDir m_dir = TemporaryDir::make("ako-sqlite").value();
  fs::path m_path = m_dir.path() / "db";
  Database open(Database::Mode mode = Database::Mode::create) {
    return std::move(Database::open(m_path, mode).value());
  }
};

std::int64_t count(Database& db) {
  auto query = db.prepare("SELECT count(*) FROM t").value();
  return query.step().value() ? query.integer(0) : -1;
}

TEST_F(Sqlite, ValuesComeBackAsTheyWent) {
  auto db = open();
  ASSERT_TRUE(db.exec("CREATE TABLE t(a, b, c, d, e, f); CREATE TABLE u(x)"));
  auto insert = db.prepare("INSERT INTO t VALUES(?,?,?,?,?,?)").value();
  const std::string text("a\0ü", 4), bytes("\0\xff\0", 3);
  insert.bind(1, INT64_MIN).bind(2, 0.1).bind(3, text).bind(5, NAN).bind(6, std::string_view());
  insert.bind_blob(4, std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(insert.run());
  EXPECT_EQ(db.changes(), 1);
  EXPECT_EQ(db.last_row_id(), 1);
  auto query = db.prepare("SELECT * FROM t").value();
  ASSERT_TRUE(query.step().value());
  EXPECT_EQ(query.integer(0), INT64_MIN);
  EXPECT_EQ(query.real(1), 0.1);
  EXPECT_EQ(query.text(2), text);
  EXPECT_EQ(query.blob(3), bytes);
  EXPECT_TRUE(query.is_null(4)) << "never NaN";
  EXPECT_FALSE(query.is_null(5)) << "an empty text is not NULL";
  EXPECT_FALSE(query.step().value());
}

TEST_F(Sqlite, RunClearsItsBindings) {
  auto db = open();
  ASSERT_TRUE(db.exec("CREATE TABLE t(a)"));
  auto insert = db.prepare("INSERT INTO t VALUES(?)").value();
  ASSERT_TRUE(insert.bind(1, std::int64_t{1}).run());
  ASSERT_TRUE(insert.run());
  auto nulls = db.prepare("SELECT count(*) FROM t WHERE a IS NULL").value();
  ASSERT_TRUE(nulls.step().value());
  EXPECT_EQ(nulls.integer(0), 1);
}

TEST_F(Sqlite, AFailedBindFailsTheStep) {
  auto db = open();
  ASSERT_TRUE(db.exec("CREATE TABLE t(a)"));
  sqlite3_limit(db.raw(), SQLITE_LIMIT_LENGTH, 100);
  auto insert = db.prepare("INSERT INTO t VALUES(?)").value();
  const auto too_big = insert.bind(1, std::string(101, 'x')).run();
  ASSERT_FALSE(too_big);
  EXPECT_EQ(too_big.error().kind, ErrorKind::invalid);
  EXPECT_EQ(count(db), 0);
  EXPECT_TRUE(insert.bind(1, std::string(80, 'x')).run()) << "and the statement is usable again";
  EXPECT_DEATH(insert.bind(2, std::int64_t{0}), "parameter");
}

TEST_F(Sqlite, TransactionsAreKeptOrUndone) {
  auto db = open();
  ASSERT_TRUE(db.exec("CREATE TABLE t(a)"));
  {
    auto undone = Transaction::begin(db);
    ASSERT_TRUE(undone);
    ASSERT_TRUE(db.exec("INSERT INTO t VALUES(1)"));
  }
  EXPECT_EQ(count(db), 0);
  {
    auto kept = Transaction::begin(db).value();
    ASSERT_TRUE(db.exec("INSERT INTO t VALUES(1)"));
    ASSERT_TRUE(kept.commit());
  }
  EXPECT_EQ(count(db), 1);
}

TEST_F(Sqlite, WhatIsWrongIsSaidByItsKind) {
  EXPECT_EQ(Database::open(m_path, Database::Mode::read_only).error().kind, ErrorKind::environment);
  EXPECT_EQ(Database::open(m_path, Database::Mode::read_write).error().kind,
            ErrorKind::environment);
  {
    auto db = open();
    ASSERT_TRUE(db.exec("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES(1)"));
    EXPECT_EQ(db.exec("INSERT INTO t VALUES(1)").error().kind, ErrorKind::invalid);
    EXPECT_EQ(db.exec("SELEKT").error().kind, ErrorKind::internal);
    EXPECT_FALSE(db.prepare("SELECT * FROM absent"));
    EXPECT_FALSE(db.prepare(" "));
  }
  auto reader = open(Database::Mode::read_only);
  EXPECT_EQ(reader.exec("INSERT INTO t VALUES(2)").error().kind, ErrorKind::environment);
  ASSERT_TRUE(write_file_atomic(m_dir.path() / "text", std::string(5000, 'x')));
  auto text = Database::open(m_dir.path() / "text", Database::Mode::read_only).value();
  const auto unsound = text.prepare("SELECT * FROM t");
  ASSERT_FALSE(unsound);
  EXPECT_EQ(unsound.error().kind, ErrorKind::invalid);
  EXPECT_EQ(unsound.error().where, (m_dir.path() / "text").string());
}

TEST_F(Sqlite, AFullDatabaseIsTheEnvironments) {
  auto db = open();
  ASSERT_TRUE(db.exec("CREATE TABLE t(a); PRAGMA max_page_count = 4"));
  auto insert = db.prepare("INSERT INTO t VALUES(?)").value();
  Status status;
  for (int i = 0; i < 100 && status; ++i) status = insert.bind(1, std::string(1000, 'x')).run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::environment);
  EXPECT_NE(status.error().message.find("no space"), std::string::npos) << status.error().text();
}

TEST_F(Sqlite, AHeldDatabaseIsWaitedForThenATimeout) {
  auto first = open();
  ASSERT_TRUE(first.exec("CREATE TABLE t(a)"));
  auto held = Transaction::begin(first);
  ASSERT_TRUE(held);
  auto second = std::move(Database::open(m_path, Database::Mode::read_write, 50).value());
  const auto refused = Transaction::begin(second);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::timeout);
}

TEST_F(Sqlite, SixtyFourProcessesAppend) {
  {
    auto db = open();
    ASSERT_TRUE(db.exec("PRAGMA journal_mode = WAL; CREATE TABLE t(a)"));
  }
  constexpr int k_processes = 64, k_rows = 5;
  for (int i = 0; i < k_processes; ++i) {
    if (fork() != 0) continue;
    auto db = Database::open(m_path, Database::Mode::read_write, 100'000);
    bool ok = db.has_value();
    for (int row = 0; ok && row < k_rows; ++row) {
      auto transaction = Transaction::begin(*db);
      ok = transaction && db->exec("INSERT INTO t VALUES(1)") && transaction->commit();
    }
    _exit(ok ? 0 : 1);
  }
  for (int i = 0; i < k_processes; ++i) {
    int status = 1;
    ASSERT_GT(wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  auto db = open();
  EXPECT_EQ(count(db), k_processes * k_rows);
}

} // namespace
} // namespace ako::base
