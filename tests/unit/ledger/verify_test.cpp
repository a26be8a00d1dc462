// Each way to tamper with the record is found at its first place; lawful things pass.
#include "sample_events.hpp"

namespace ako::ledger::testing {
namespace {

class Tamper : public LedgerTest {
protected:
  std::vector<Appended> heads;
  void SetUp() override {
    LedgerTest::SetUp();
    Writer to = writer();
    for (int i = 1; i <= 5; ++i)
      heads.push_back(
          put(to, iteration({.number = i}), {{"diff", "d" + std::to_string(i)}}, samples(8, i)));
  }
  /// As somebody with the sqlite3 program would: guards away, change, guards back.
  void change(const std::string& sql) {
    auto db = base::Database::open(path(), base::Database::Mode::read_write);
    ASSERT_TRUE(db);
    std::vector<std::string> guards;
    {
      auto triggers = db->prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'");
      ASSERT_TRUE(triggers);
      std::vector<std::string> names;
      while (*triggers->step()) {
        names.push_back(triggers->text(0));
        guards.push_back(triggers->text(1));
      }
      triggers->reset();
      for (const std::string& name : names) ASSERT_TRUE(db->exec("DROP TRIGGER " + name));
    }
    const base::Status changed = db->exec(sql);
    ASSERT_TRUE(changed) << changed.error().text();
    ASSERT_GT(db->changes(), 0) << sql;
    for (const std::string& guard : guards) ASSERT_TRUE(db->exec(guard));
  }
  void expect_break(std::int64_t seq, const std::string& what,
                    const std::vector<KnownHead>& known = {}) {
    const Verified result = verified(known);
    ASSERT_TRUE(result.broken) << "not noticed: " << what;
    EXPECT_EQ(result.broken->seq, seq);
    EXPECT_NE(result.broken->what.find(what), std::string::npos) << result.broken->what;
  }
};

TEST_F(Tamper, AnHonestRecordIsWhole) {
  const Verified result = verified({{heads[2].hash, "commit 3"}, {heads[4].hash, "commit 5"}});
  EXPECT_FALSE(result.broken);
  EXPECT_EQ(result.events, 5);
  EXPECT_EQ(result.blobs, 5);
  EXPECT_EQ(result.samples, 40);
  EXPECT_EQ(result.heads, 2);
  EXPECT_EQ(result.head, heads[4].hash);
  EXPECT_TRUE(result.remarks.empty());
}
TEST_F(Tamper, EventsPastTheLastKnownHeadAreRemarked) {
  const Verified result = verified({{heads[2].hash, "commit 3"}});
  EXPECT_FALSE(result.broken);
  ASSERT_EQ(result.remarks.size(), 1u);
  EXPECT_NE(result.remarks[0].find("2 events"), std::string::npos) << result.remarks[0];
}
TEST_F(Tamper, AChangedEvent) {
  change("UPDATE event SET json = replace(json, 'regressed', 'improved'), ts = ts WHERE seq = 3");
  // Nothing to replace in an equivalent one: the hash still holds.
  EXPECT_FALSE(verified().broken);
  change("UPDATE event SET json = replace(json, 'equivalent', 'improved') WHERE seq = 3");
  expect_break(3, "changed");
}
TEST_F(Tamper, AChangedTime) {
  change("UPDATE event SET ts = ts + 1 WHERE seq = 2");
  expect_break(2, "changed");
}
TEST_F(Tamper, ACutInTheMiddle) {
  change("DELETE FROM event WHERE seq = 3");
  expect_break(3, "missing");
}
TEST_F(Tamper, ACutAtTheEnd) {
  change("DELETE FROM iteration_row WHERE number = 5");
  change("DELETE FROM sample WHERE event = 5");
  change("DELETE FROM blob WHERE rowid = 5");
  change("DELETE FROM event WHERE seq = 5");
  EXPECT_FALSE(verified({{heads[3].hash, "commit 4"}}).broken);
  expect_break(4, "commit 5", {{heads[3].hash, "commit 4"}, {heads[4].hash, "commit 5"}});
}
TEST_F(Tamper, ChangedCutAndAddedSamples) {
  change("UPDATE sample SET device_ns = device_ns * 0.9 WHERE event = 4 AND side = 2");
  expect_break(4, "samples were changed");
}
TEST_F(Tamper, ACutSample) {
  change("DELETE FROM sample WHERE rowid = 9");
  expect_break(2, "added or cut");
}
TEST_F(Tamper, ASampleOfNoEvent) {
  change(
      "INSERT INTO sample SELECT 77, shape, placement, pair, side, \"order\", device_ns, call_ns, "
      "calls, flags FROM sample LIMIT 1");
  expect_break(0, "samples that no event names");
}
TEST_F(Tamper, AChangedAttachment) {
  change("UPDATE blob SET bytes = x'00' WHERE rowid = 2");
  expect_break(2, "attachment was changed");
}
TEST_F(Tamper, AMissingAttachment) {
  change("DELETE FROM blob WHERE rowid = 2");
  expect_break(2, "attachment is missing");
}
TEST_F(Tamper, AChangedDerivedRow) {
  change("UPDATE iteration_row SET gain = 0.5 WHERE number = 2");
  expect_break(2, "row derived");
}
TEST_F(Tamper, ADerivedRowOfNoEvent) {
  change(
      "INSERT INTO iteration_row SELECT 6, 99, ts, outcome, decision, explore, confirmed, gain, "
      "low, "
      "high, base_gain, base_low, base_high, snapshot, lane, hypothesis, direction, row_start FROM "
      "iteration_row WHERE number = 1");
  expect_break(0, "derived rows without");
}
TEST_F(Tamper, ARemovedGuard) {
  auto db = base::Database::open(path(), base::Database::Mode::read_write);
  ASSERT_TRUE(db->exec("DROP TRIGGER event_no_update"));
  expect_break(0, "event_no_update");
}
TEST_F(Tamper, ARewrittenChain) {
  // All hashes recomputed: only a head known outside shows it.
  std::filesystem::remove(path());
  Writer to = writer();
  for (int i = 1; i <= 5; ++i) put(to, iteration({.number = i, .gain = 0.5}));
  EXPECT_FALSE(verified().broken);
  expect_break(5, "commit 3", {{heads[2].hash, "commit 3"}});
}

TEST_F(Tamper, ACopyIsAllowedAndSaysHowItsHeadDiffers) {
  const base::fs::path other = folder() / "copy.sqlite";
  std::filesystem::copy_file(path(), other);
  const auto remark = [&]() -> std::string {
    auto copy = Reader::open(other);
    EXPECT_TRUE(copy);
    auto result = verify(*copy, {{heads[4].hash, "commit 5"}});
    EXPECT_TRUE(result && !result->broken);
    for (const std::string& each : result->remarks)
      if (each.find("made at") != each.npos) return each;
    return {};
  };
  EXPECT_NE(remark().find("same head"), std::string::npos) << remark();
  Writer to = writer();
  put(to, Note{"note", "more", "me"});
  EXPECT_NE(remark().find("the original has 1 events more"), std::string::npos) << remark();
  auto there = Writer::open(other, Open::existing);
  ASSERT_TRUE(there);
  put(*there, Note{"note", "another", "me"});
  EXPECT_NE(remark().find("different ways"), std::string::npos) << remark();
  put(*there, Note{"note", "another", "me"});
  EXPECT_NE(remark().find("different ways"), std::string::npos) << remark();
}

} // namespace
} // namespace ako::ledger::testing
