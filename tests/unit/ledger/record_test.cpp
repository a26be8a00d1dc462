#include "sample_events.hpp"

#include <cmath>

namespace ako::ledger::testing {
namespace {

using model::Decision;
using model::OutcomeKind;

class Record : public LedgerTest {
protected:
  void step(Writer& to, Step how) {
    how.number = ++m_number;
    put(to, iteration(how));
  }
  Standing standing() {
    auto now = reader().standing();
    if (!now) ADD_FAILURE() << now.error().text();
    return now.value_or(Standing{});
  }
  std::int64_t m_number = 0;
};

TEST_F(Record, AnAppendedEventReadsBackWithItsAttachments) {
  Writer to = writer();
  const auto rows = samples(50, 1e3);
  const Appended first = put(to, Note{"finding", "first", "me"});
  const Appended second =
      put(to, iteration({.number = 1, .gain = 0.03}), {{"diff", "+ a\n"}}, rows);
  EXPECT_EQ(second.seq, 2);
  Reader from = reader();
  auto event = from.event(2);
  ASSERT_TRUE(event && *event);
  EXPECT_EQ((*event)->prev, first.hash);
  EXPECT_EQ((*event)->hash, second.hash);
  EXPECT_EQ((*event)->sample_rows, 50);
  ASSERT_EQ((*event)->blobs.size(), 1u);
  EXPECT_EQ(from.blob((*event)->blobs[0].hash).value_or("?"), "+ a\n");
  auto back = from.samples(2);
  ASSERT_TRUE(back);
  EXPECT_EQ(sample_hash(*back), sample_hash(rows));
  EXPECT_TRUE(std::isnan((*back)[0].call_ns));
  EXPECT_EQ((*back)[49].calls, 7);
  auto typed = from.iteration(1);
  ASSERT_TRUE(typed && *typed);
  EXPECT_EQ((*typed)->payload.prediction, "3 to 6 % on the large shapes");
  EXPECT_EQ(from.head().value_or(""), second.hash);
  EXPECT_FALSE(verified({{second.hash, "commit 1"}}).broken);
}

TEST_F(Record, RowsAreOnlyAdded) {
  Writer to = writer();
  put(to, iteration({.number = 1}), {{"diff", "d"}}, samples(4, 1));
  auto db = base::Database::open(path(), base::Database::Mode::read_write);
  ASSERT_TRUE(db);
  for (const char* sql :
       {"UPDATE event SET json = '{}'", "DELETE FROM event", "UPDATE blob SET bytes = x'00'",
        "DELETE FROM blob", "UPDATE sample SET device_ns = 1", "DELETE FROM sample",
        "UPDATE iteration_row SET gain = 1", "DELETE FROM iteration_row", "DELETE FROM origin",
        "UPDATE schema_version SET version = 1",
        "INSERT OR REPLACE INTO event SELECT seq, prev, hash, ts, kind, '{}' FROM event",
        "INSERT OR REPLACE INTO blob SELECT hash, x'00' FROM blob",
        "INSERT INTO sample SELECT * FROM sample",
        "INSERT INTO event VALUES(9, '', '', 0, 'note', '{}')"}) {
    const base::Status status = db->exec(sql);
    ASSERT_FALSE(status) << sql;
    const std::string text = status.error().text();
    EXPECT_TRUE(text.find("ledger only") != std::string::npos ||
                text.find("samples come with") != std::string::npos)
        << text;
  }
  EXPECT_FALSE(verified().broken);
}

TEST_F(Record, IterationNumbersHaveNoGapsAndNoDoubles) {
  Writer to = writer();
  put(to, iteration({.number = 1}));
  for (const std::int64_t number : {1, 3, 0}) {
    auto twice = to.append(iteration({.number = number}));
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().kind, base::ErrorKind::refused);
  }
  put(to, iteration({.number = 2}));
  EXPECT_EQ(standing().iterations, 2);
  EXPECT_EQ(standing().events, 2);
}

TEST_F(Record, ASampleWithoutAFiniteTimeIsRefused) {
  Writer to = writer();
  auto rows = samples(3, 1);
  rows[1].device_ns = std::numeric_limits<double>::quiet_NaN();
  auto refused = to.append(iteration({.number = 1}), {}, rows);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("row 1"), std::string::npos);
  EXPECT_EQ(standing().events, 0);
}

TEST_F(Record, TheIncumbentIsTheLastOneKeptOrFlagged) {
  Writer to = writer();
  EXPECT_FALSE(standing().incumbent);
  step(to, {.outcome = OutcomeKind::improved, .gain = 0.1, .decision = Decision::keep});
  step(to, {.outcome = OutcomeKind::regressed, .gain = -0.1});
  ASSERT_TRUE(standing().incumbent);
  EXPECT_EQ(standing().incumbent->number, 1);
  step(to, {.outcome = OutcomeKind::equivalent, .decision = Decision::flag});
  EXPECT_EQ(standing().incumbent->number, 3);
  EXPECT_EQ(standing().last->number, 3);
  EXPECT_EQ(standing().outcomes.at("regressed"), 1);
  EXPECT_EQ(reader().kept()->size(), 2u);
}

TEST_F(Record, AnIncorrectCandidateHasNoGain) {
  Writer to = writer();
  step(to, {.outcome = OutcomeKind::incorrect, .gain = 0.5});
  EXPECT_FALSE(standing().last->gain);
}

TEST_F(Record, CorrectAndNotBetterInARowIsCounted) {
  Writer to = writer();
  step(to, {.outcome = OutcomeKind::equivalent});
  step(to, {.outcome = OutcomeKind::improved, .decision = Decision::keep});
  EXPECT_EQ(standing().not_better_in_a_row, 0);
  step(to, {.outcome = OutcomeKind::regressed});
  step(to, {.outcome = OutcomeKind::equivalent, .explore = Explore::yes});
  step(to, {.outcome = OutcomeKind::incorrect});
  step(to, {.outcome = OutcomeKind::undecided});
  EXPECT_EQ(standing().not_better_in_a_row, 2);
  step(to, {.outcome = OutcomeKind::equivalent});
  EXPECT_EQ(standing().not_better_in_a_row, 3);
  EXPECT_FALSE(standing().stall_event);
  put(to, Stall{m_number, 3, {}, {}});
  EXPECT_TRUE(standing().stall_event);
}

TEST_F(Record, ADirectionOrAnotherLaneEndsTheRow) {
  Writer to = writer();
  for (int i = 0; i < 3; ++i) step(to, {});
  put(to, Stall{3, 3, {}, {}});
  step(to, {.direction = "tiles"}); // given with the step: it is the first of a new row
  EXPECT_EQ(standing().not_better_in_a_row, 1);
  EXPECT_FALSE(standing().stall_event);
  step(to, {.lane = "cuda"});
  EXPECT_EQ(standing().not_better_in_a_row, 1);
  step(to, {.lane = "cuda"});
  put(to, Stall{m_number, 3, {}, {}});
  put(to, Direction{"another layout", "", m_number}); // given before the step
  EXPECT_EQ(standing().not_better_in_a_row, 0);
  EXPECT_FALSE(standing().stall_event);
}

TEST_F(Record, PagesCommitsAndReturningAttempts) {
  Writer to = writer();
  for (int i = 0; i < 30; ++i) step(to, {});
  put(to, Committed{7, "c0ffee", "head"});
  Reader from = reader();
  auto last = from.page(5);
  ASSERT_TRUE(last);
  ASSERT_EQ(last->size(), 5u);
  EXPECT_EQ(last->front().number, 26);
  EXPECT_EQ(from.page(5, 26)->back().number, 25);
  EXPECT_EQ(from.page(100)->size(), 30u);
  EXPECT_EQ(from.commit_of(7).value_or("?"), "c0ffee");
  EXPECT_EQ(from.commit_of(8).value_or("?"), "");
  auto again = from.with_snapshot(iteration({.number = 9}).snapshot.hash);
  ASSERT_TRUE(again && *again);
  EXPECT_EQ((*again)->number, 9);
  EXPECT_FALSE(*from.with_snapshot("none"));
  std::int64_t seen = 0;
  ASSERT_TRUE(from.each_row([&](const IterationRow& row) -> base::Status {
    EXPECT_EQ(row.number, ++seen);
    return {};
  }));
  EXPECT_EQ(seen, 30);
}

TEST_F(Record, TheSecondOpinionIsTheIncumbents) {
  Writer to = writer();
  step(to, {.outcome = OutcomeKind::improved, .decision = Decision::keep});
  put(to, SecondOpinion{1, base::sha256("somebody else"), true, "replayed", {}});
  EXPECT_FALSE(standing().second_opinion_event);
  put(to, SecondOpinion{1, iteration({.number = 1}).snapshot.hash, true, "replayed", {}});
  EXPECT_EQ(standing().second_opinion_event, 3);
  put(to, Waiver{"references", "w", "try", "user"});
  EXPECT_EQ(standing().waivers, 1);
}

TEST_F(Record, TextOfAnySortSurvives) {
  Writer to = writer();
  const std::string text = std::string("umlaut \xc3\xbc, quote \", zero ") + '\0' + " end\r\n";
  put(to, Note{"finding", text, "me"});
  auto notes = reader().all<Note>();
  ASSERT_TRUE(notes) << notes.error().text();
  EXPECT_EQ(notes->at(0).payload.text, text);
  put(to, Note{"finding", "broken \xff utf-8", "me"});
  EXPECT_FALSE(verified().broken);
}

} // namespace
} // namespace ako::ledger::testing
