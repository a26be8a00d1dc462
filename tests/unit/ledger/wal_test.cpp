#include "ledger/wal.hpp"
#include "sample_events.hpp"

namespace ako::ledger::testing {
namespace {

/// The log of a ledger that is still open, read while nobody writes.
class WalTailTest : public LedgerTest {
protected:
  std::string log() {
    auto text = base::read_file(path().string() + "-wal");
    if (!text) ADD_FAILURE() << text.error().text();
    return text.value_or("");
  }
};

TEST_F(WalTailTest, AWholeLogHasNoTail) {
  EXPECT_EQ(wal_tail("").loose_bytes, 0);
  Writer to = writer();
  put(to, Note{"note", "a", "b"});
  put(to, Note{"note", "a", "b"});
  const WalTail tail = wal_tail(log());
  EXPECT_GE(tail.committed_frames, 2);
  EXPECT_EQ(tail.loose_bytes, 0);
}

TEST_F(WalTailTest, EachCutOfALastTransactionShows) {
  Writer to = writer();
  put(to, Note{"note", "a", "b"});
  const std::string before = log();
  put(to, Note{"note", "a", "b"});
  const std::string whole = log();
  ASSERT_GT(whole.size(), before.size());
  for (std::size_t size = before.size() + 1; size < whole.size(); size += 97)
    EXPECT_EQ(wal_tail(whole.substr(0, size)).loose_bytes,
              static_cast<std::int64_t>(size - before.size()));
  EXPECT_EQ(wal_tail(before).loose_bytes, 0);
}

TEST_F(WalTailTest, AByteThatFlippedInTheLastTransactionShows) {
  Writer to = writer();
  put(to, Note{"note", "a", "b"});
  const std::size_t before = log().size();
  put(to, Note{"note", "a", "b"});
  std::string torn = log();
  torn[before + 24 + 2000] = static_cast<char>(torn[before + 24 + 2000] ^ 1);
  EXPECT_GT(wal_tail(torn).loose_bytes, 0);
}

TEST(WalTail, GarbageIsAllTail) {
  EXPECT_EQ(wal_tail("not a log at all").loose_bytes, 16);
  EXPECT_EQ(wal_tail(std::string(64, '\0')).loose_bytes, 64);
}

} // namespace
} // namespace ako::ledger::testing
