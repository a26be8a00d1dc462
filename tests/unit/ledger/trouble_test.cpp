// One clear message for each thing that can be wrong with the file and its place.
#include "ledger/trouble.hpp"

#include "child.hpp"
#include "fault_vfs.hpp"
#include "sample_events.hpp"

#include <fmt/format.h>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace ako::ledger::testing {
namespace {

class Trouble : public LedgerTest {
protected:
  void fill(int events) {
    Writer to = writer();
    for (int i = 1; i <= events; ++i) put(to, iteration({.number = i}), {}, samples(40, i));
  }
  void expect_both(const std::string& words) {
    auto to = Writer::open(path(), Open::existing);
    ASSERT_FALSE(to) << words;
    EXPECT_NE(to.error().text().find(words), std::string::npos) << to.error().text();
    auto from = Reader::open(path());
    const bool refused = !from || !from->standing();
    ASSERT_TRUE(refused) << words;
    const std::string text =
        from ? explain(from->standing().error(), path()).text() : from.error().text();
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_NE(text.find(path().string()), std::string::npos) << text;
  }
  void write(const std::string& content) { std::ofstream(path(), std::ios::binary) << content; }
};

TEST_F(Trouble, NoLedgerThere) { expect_both("no ledger here"); }
TEST_F(Trouble, AnEmptyFile) {
  write("");
  expect_both("is empty");
}
TEST_F(Trouble, AFolder) {
  std::filesystem::create_directory(path());
  expect_both("not a ledger");
}
TEST_F(Trouble, Garbage) {
  write(std::string(20000, 'g'));
  expect_both("not a ledger");
}
TEST_F(Trouble, AnotherDatabase) {
  {
    auto db = base::Database::open(path(), base::Database::Mode::create);
    ASSERT_TRUE(db->exec("CREATE TABLE bookmarks(url TEXT)"));
  }
  const auto before = base::sha256_file(path());
  expect_both("not a ledger");
  EXPECT_EQ(*base::sha256_file(path()), *before) << "somebody else's database was touched";
}
TEST_F(Trouble, ATruncatedFile) {
  fill(20);
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) / 2);
  expect_both("damaged or truncated");
}
TEST_F(Trouble, ATruncatedLogLosesTheEventInFlightAndSaysSo) {
  const ChildEnd end = in_child([&](int) {
    auto to = Writer::open(path(), Open::create);
    for (int i = 1; i <= 3; ++i)
      if (!to || !to->append(iteration({.number = i}))) return 1;
    ::_exit(0); // without closing: the log stays
  });
  ASSERT_EQ(end.code, 0);
  const base::fs::path log = path().string() + "-wal";
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 100);
  {
    Writer to = writer(Open::existing);
    ASSERT_TRUE(to.recovery());
    EXPECT_NE(to.recovery()->find("cut off"), std::string::npos) << *to.recovery();
  }
  EXPECT_FALSE(verified().broken);
  EXPECT_EQ(reader().standing()->iterations, 2);
  auto told = reader().all<Interrupted>();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->size(), 1u);
  EXPECT_FALSE(writer(Open::existing).recovery()) << "told once";
}

TEST_F(Trouble, NetworkFileSystemsAreRefused) {
  const base::Status status = refuse_network(path(), [](const base::fs::path&) { return true; });
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().text().find("network file system"), std::string::npos);
  EXPECT_TRUE(refuse_network(path(), base::on_network_file_system)) << "a local disk passes";
}

/// Root may write anywhere: an ordinary user tries.
int as_nobody(const std::function<int(int)>& body, int out) {
  if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 90;
  return body(out);
}

TEST_F(Trouble, AReadOnlyFolderIsReadAndNotWritten) {
  fill(3);
  std::filesystem::permissions(path(), std::filesystem::perms(0444));
  std::filesystem::permissions(folder(), std::filesystem::perms(0555));
  const ChildEnd end = in_child([&](int pipe) {
    return as_nobody(
        [&](int out) {
          auto from = Reader::open(path());
          if (!from) {
            say(out, from.error().text());
            return 1;
          }
          auto standing = from->standing();
          if (!standing || standing->iterations != 3) return 2;
          auto to = Writer::open(path(), Open::existing);
          if (to) return 3;
          say(out, to.error().text());
          return 0;
        },
        pipe);
  });
  std::filesystem::permissions(folder(), std::filesystem::perms(0755));
  EXPECT_EQ(end.code, 0) << end.said;
  EXPECT_NE(end.said.find("cannot be written"), std::string::npos) << end.said;
}

/// SQLite's own answer to a full disk, at each write in turn; then space again.
TEST_F(Trouble, AFullDiskAtEachWriteLosesTheEventInFlightAlone) {
  fill(2);
  int refused = 0;
  for (long at = 1;; ++at) {
    ASSERT_LT(at, 500);
    const ChildEnd end = in_child([&](int out) {
      install_faults(Fault::none, 0);
      auto to = Writer::open(path(), Open::existing);
      if (!to) return 1;
      install_faults(Fault::no_space, at);
      auto done = to->append(Note{"note", "in flight", "me"}, {{"b", std::string(30000, 'b')}});
      mend();
      if (done) return 0;
      say(out, done.error().text());
      // Space again: the same process goes on.
      return to->append(Note{"note", "after", "me"}) ? 10 : 2;
    });
    if (end.code == 0) break;
    ASSERT_EQ(end.code, 10) << end.said;
    EXPECT_NE(end.said.find("no space left for the ledger: the event in flight is not on record"),
              std::string::npos)
        << end.said;
    ++refused;
    EXPECT_FALSE(writer(Open::existing).recovery()) << "a refused append is no cut one";
    ASSERT_FALSE(verified().broken) << "at " << at;
  }
  EXPECT_GT(refused, 3);
  auto notes = reader().all<Note>();
  EXPECT_EQ(notes->size(), static_cast<std::size_t>(refused) + 1);
}

/// The same on a real file system without space, where this machine lets a test mount one.
TEST_F(Trouble, ARealDiskThatIsFull) {
  const ChildEnd end = in_child([&](int out) {
    if (::unshare(CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0) return 50;
    ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("none", folder().c_str(), "tmpfs", 0, "size=600k") != 0) return 50;
    auto to = Writer::open(path(), Open::create);
    if (!to) return 1;
    std::string last;
    int kept = 0;
    for (int i = 0; i < 400; ++i) {
      auto done = to->append(Note{"note", fmt::format("{}", i), "me"},
                             {{"b", std::string(9000, 'a') + std::to_string(i)}});
      if (!done) {
        say(out, done.error().text());
        auto from = Reader::open(path());
        if (!from) return 3;
        auto result = verify(*from, {{last, "the last acknowledged"}});
        return result && !result->broken && result->events == kept ? 0 : 4;
      }
      last = done->hash;
      ++kept;
    }
    return 5;
  });
  if (end.code == 50) GTEST_SKIP() << "no file system can be mounted here; the test above stands";
  EXPECT_EQ(end.code, 0) << end.said;
  EXPECT_NE(end.said.find("no space left for the ledger: the event in flight is not on record"),
            std::string::npos)
      << end.said;
}

} // namespace
} // namespace ako::ledger::testing
