// A kill at every write and sync of the writer, in turn.
#include "child.hpp"
#include "fault_vfs.hpp"
#include "sample_events.hpp"

#include <fmt/format.h>
#include <sstream>
#include <unistd.h>

namespace ako::ledger::testing {
namespace {

struct Start {
  const char* name;
  int events;    ///< on record before
  bool open_log; ///< the record's last events are still in the log
};

class Kill : public LedgerTest {
protected:
  base::fs::path origin() const { return folder() / "origin" / "ledger.sqlite"; }

  /// A ledger to start from, made by a process that leaves its log behind or closes it.
  void make_origin(const Start& start) {
    std::filesystem::create_directories(origin().parent_path());
    if (start.events == 0) return;
    const ChildEnd end = in_child([&](int) {
      auto to = Writer::open(origin(), Open::create);
      if (!to) return 1;
      for (int i = 1; i <= start.events; ++i)
        if (!to->append(iteration({.number = i}), {{"diff", "d"}}, samples(6, i))) return 2;
      if (start.open_log) ::_exit(0); // without closing: the log stays
      return 0;
    });
    ASSERT_EQ(end.code, 0);
    ASSERT_EQ(std::filesystem::exists(origin().string() + "-wal"), start.open_log);
  }

  void copy_origin() {
    for (const char* part : {"", "-wal", "-shm"}) {
      std::filesystem::remove(path().string() + part);
      const base::fs::path from = origin().string() + part;
      if (std::filesystem::exists(from)) std::filesystem::copy_file(from, path().string() + part);
    }
  }

  /// What the doomed process does: three events and a clean end, each acknowledged by its hash.
  int work(int out, int before) {
    auto to = Writer::open(path(), Open::create);
    if (!to) return 1;
    say(out, "open\n");
    acknowledged();
    for (int i = 1; i <= 2; ++i) {
      auto done = to->append(iteration({.number = before + i}),
                             {{"diff", fmt::format("diff {}", i)}}, samples(20, i));
      if (!done) return 2;
      say(out, done->hash + "\n");
      acknowledged();
    }
    auto done = to->append(Note{"finding", "third", "me"});
    if (!done) return 3;
    say(out, done->hash + "\n");
    acknowledged();
    return 0;
  }

  /// After the kill: nothing acknowledged is lost, at most one event more is there, and work goes
  /// on. Returns whether the next writer said that an append had been cut off.
  bool check(const ChildEnd& end, const Start& start, long at) {
    const std::string place = fmt::format("{}, killed at call {}", start.name, at);
    std::vector<KnownHead> heads;
    bool open = false;
    long frames = 0;
    std::istringstream lines(end.said);
    for (std::string line; std::getline(lines, line);)
      if (line == "open") open = true;
      else if (line.rfind("died ", 0) == 0) frames = std::stol(line.substr(5));
      else heads.push_back({line, "acknowledged"});
    const auto promised = static_cast<std::int64_t>(heads.size());
    auto to = Writer::open(path(), Open::create);
    EXPECT_TRUE(to) << place << ": " << (to ? "" : to.error().text());
    if (!to) return false;
    const bool said_so = to->recovery().has_value();
    auto next = to->append(Note{"note", "after", "me"});
    EXPECT_TRUE(next) << place << ": " << (next ? "" : next.error().text());
    if (!next) return said_so;
    heads.push_back({next->hash, "the one after"});
    const Verified result = verified(heads);
    EXPECT_FALSE(result.broken) << place << ": "
                                << (result.broken ? result.broken->what + " " + result.broken->found
                                                  : "");
    // Without what the test itself made: the event after, and the notice.
    const std::int64_t on_record = result.events - start.events - 1 - (said_so ? 1 : 0);
    EXPECT_GE(on_record, promised) << place;
    EXPECT_LE(on_record, promised + 1) << place;
    // Once the ledger is open, what was lost after it had reached the log is told, and what is on
    // record is never told as lost.
    if (open && frames > 0 && on_record == promised) {
      EXPECT_TRUE(said_so) << place << ": lost in silence, with " << frames << " frames in the log";
    }
    if (open && on_record > promised) {
      EXPECT_FALSE(said_so) << place << ": on record and told as lost";
    }
    return said_so;
  }

  void everywhere(const Start& start, Fault fault) {
    make_origin(start);
    long at = 1, notices = 0;
    for (bool whole = false; !whole; ++at) {
      ASSERT_LT(at, 2000) << "the writer never came to its end";
      copy_origin();
      const ChildEnd end = in_child([&](int out) {
        install_faults(fault, at);
        say_end_to(out);
        return work(out, start.events);
      });
      ASSERT_TRUE(end.code == 0 || end.code == k_died) << "exit " << end.code << " at " << at;
      whole = end.code == 0;
      const bool said_so = check(end, start, at);
      if (said_so) ++notices;
      if (whole) {
        EXPECT_FALSE(said_so) << "a whole run is not reported as cut off";
      }
      if (HasFailure()) return;
    }
    // The count of faulted calls is part of the evidence that each was tried.
    RecordProperty(start.name, static_cast<int>(at - 2));
    std::printf("%s: a kill at each of %ld calls, %ld of them reported\n", start.name, at - 2,
                notices);
    EXPECT_GT(at, 20) << "hardly any call was seen: the faulty layer is not in use";
    EXPECT_GT(notices, 0) << "no cut append was ever reported";
  }
};

TEST_F(Kill, WhileTheLedgerIsMade) { everywhere({"made", 0, false}, Fault::die_before); }
TEST_F(Kill, WhileAClosedLedgerGrows) { everywhere({"closed", 4, false}, Fault::die_before); }
TEST_F(Kill, WhileALedgerWithALogGrows) { everywhere({"with_log", 4, true}, Fault::die_before); }
TEST_F(Kill, InTheMiddleOfEachWrite) { everywhere({"torn", 4, false}, Fault::die_torn); }
TEST_F(Kill, InTheMiddleOfEachWriteWithALog) { everywhere({"torn_log", 4, true}, Fault::die_torn); }

/// SQLite moves the log into the file when it has grown to a thousand pages: a kill at each call of
/// the appends around that, in turn.
TEST_F(Kill, WhileTheLogIsMergedIntoTheFile) {
  constexpr long k_frame = 24 + 4096, k_merged_at = 1000;
  std::filesystem::create_directories(origin().parent_path());
  const ChildEnd filled = in_child([&](int out) {
    auto to = Writer::open(origin(), Open::create);
    if (!to) return 1;
    long frames = 0, step = 0, events = 0;
    for (; frames + 2 * step < k_merged_at; ++events) { // one or two appends short of it
      if (!to->append(Note{"finding", fmt::format("note {}", events), "me"})) return 2;
      const auto size = std::filesystem::file_size(origin().string() + "-wal");
      const long now = static_cast<long>(size) / k_frame;
      step = now - frames;
      frames = now;
    }
    say(out, std::to_string(events));
    ::_exit(0); // without closing: the log stays
  });
  ASSERT_EQ(filled.code, 0);
  const Start start{"merge", std::stoi(filled.said), true};
  // A run to the end must have merged the log while the writer was open: then every call of the
  // merge was among those at which a run before it was killed. How many calls that are differs from
  // run to run, since each event's hash falls into another page of its index.
  constexpr int k_not_merged = 3;
  const auto grow = [&](int out) {
    const auto before = std::filesystem::file_size(path());
    auto to = Writer::open(path(), Open::existing);
    if (!to) return 1;
    say(out, "open\n");
    acknowledged();
    for (int i = 0; i < 12 && std::filesystem::file_size(path()) == before; ++i) {
      auto done = to->append(Note{"finding", fmt::format("grown {}", i), "me"});
      if (!done) return 2;
      say(out, done->hash + "\n");
      acknowledged();
    }
    return std::filesystem::file_size(path()) > before ? 0 : k_not_merged;
  };
  long at = 1;
  for (bool whole = false; !whole; ++at) {
    ASSERT_LT(at, 1000) << "the writer never came to its end";
    copy_origin();
    const ChildEnd end = in_child([&](int out) {
      install_faults(Fault::die_before, at);
      say_end_to(out);
      return grow(out);
    });
    ASSERT_NE(end.code, k_not_merged) << "the appends did not make SQLite merge the log";
    ASSERT_TRUE(end.code == k_died || end.code == 0) << at;
    whole = end.code == 0;
    check(end, start, at);
    if (HasFailure()) return;
  }
  std::printf("merge: a kill at each of %ld calls\n", at - 2);
}

} // namespace
} // namespace ako::ledger::testing
