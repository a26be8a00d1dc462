#include "ledger/schema.hpp"
#include "sample_events.hpp"

namespace ako::ledger::testing {
namespace {

class Migration : public LedgerTest {
protected:
  /// A ledger as version 1 wrote it: two iterations and a note, no derived rows.
  void make_version_1() {
    auto db = base::Database::open(path(), base::Database::Mode::create);
    ASSERT_TRUE(db);
    ASSERT_TRUE(migrate(*db, 0, path(), 1));
    std::string prev = *ledger_id(*db);
    const std::vector<std::pair<std::string, base::Json>> events = {
        {"iteration", to_json(iteration({.number = 1,
                                         .outcome = model::OutcomeKind::improved,
                                         .gain = 0.1,
                                         .decision = model::Decision::keep}))},
        {"note", to_json(Note{"finding", "old", "me"})},
        {"iteration", to_json(iteration({.number = 2}))}};
    std::int64_t seq = 0;
    for (const auto& [kind, payload] : events) {
      const std::string json = base::dump_json(payload),
                        hash = event_hash(++seq, prev, 1000, kind, json);
      auto insert = db->prepare("INSERT INTO event VALUES(?,?,?,1000,?,?)");
      ASSERT_TRUE(insert);
      insert->bind(1, seq).bind(2, std::string_view(prev)).bind(3, std::string_view(hash));
      insert->bind(4, std::string_view(kind)).bind(5, std::string_view(json));
      ASSERT_TRUE(insert->run());
      prev = hash;
    }
    head = prev;
  }
  std::string head;
  std::int64_t versions() {
    auto db = base::Database::open(path(), base::Database::Mode::read_only);
    auto count = db->prepare("SELECT count(*) FROM schema_version");
    return *count->step() ? count->integer(0) : 0;
  }
};

TEST_F(Migration, AnOlderLedgerIsBroughtUpToDateByAWriter) {
  make_version_1();
  Writer to = writer(Open::existing);
  put(to, iteration({.number = 3}));
  EXPECT_EQ(versions(), 2);
  const Verified result = verified({{head, "commit of the older ako"}});
  EXPECT_FALSE(result.broken) << (result.broken ? result.broken->what : "");
  EXPECT_EQ(result.events, 4);
}

TEST_F(Migration, AReaderBringsItUpToDateToo) {
  make_version_1();
  auto standing = reader().standing();
  ASSERT_TRUE(standing) << standing.error().text();
  EXPECT_EQ(standing->iterations, 2);
  ASSERT_TRUE(standing->incumbent);
  EXPECT_EQ(standing->incumbent->number, 1);
  EXPECT_EQ(standing->not_better_in_a_row, 1);
  EXPECT_FALSE(verified({{head, "commit"}}).broken);
}

TEST_F(Migration, ANewerLedgerIsRefusedAndLeftAlone) {
  { Writer to = writer(); }
  auto db = base::Database::open(path(), base::Database::Mode::read_write);
  ASSERT_TRUE(db->exec("INSERT INTO schema_version VALUES(9, 0)"));
  const auto refused = [&](const base::Error& error) {
    EXPECT_EQ(error.kind, base::ErrorKind::unsupported);
    EXPECT_NE(error.text().find("newer ako"), std::string::npos) << error.text();
    EXPECT_NE(error.text().find("version 9"), std::string::npos) << error.text();
  };
  auto to = Writer::open(path(), Open::existing);
  ASSERT_FALSE(to);
  refused(to.error());
  auto from = Reader::open(path());
  ASSERT_FALSE(from);
  refused(from.error());
}

} // namespace
} // namespace ako::ledger::testing
