// Keep, revert, flag; when the loop stalls; what the log teaches; what comes next.
#include "loop/state.hpp"

#include "base/fs.hpp"
#include "ledger/writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using ledger::Explore;
using model::Decision;
using model::OutcomeKind;
using testing::HasSubstr;

model::Verdict verdict(OutcomeKind kind) {
  model::Verdict out;
  out.outcome = {kind, model::default_fault(kind), "why", {}};
  return out;
}

struct Row {
  OutcomeKind kind;
  Decision plain, flagged;
  bool counts; ///< correct and not better
};

const Row k_rows[] = {
    {OutcomeKind::improved, Decision::keep, Decision::keep, false},
    {OutcomeKind::equivalent, Decision::revert, Decision::flag, true},
    {OutcomeKind::regressed, Decision::revert, Decision::flag, true},
    {OutcomeKind::undecided, Decision::revert, Decision::flag, true},
    {OutcomeKind::incorrect, Decision::revert, Decision::revert, false},
    {OutcomeKind::suspect, Decision::revert, Decision::revert, false},
    {OutcomeKind::build_failed, Decision::revert, Decision::revert, false},
    {OutcomeKind::launch_failed, Decision::revert, Decision::revert, false},
    {OutcomeKind::crashed, Decision::revert, Decision::revert, false},
    {OutcomeKind::timeout, Decision::revert, Decision::revert, false},
    {OutcomeKind::invalid_measurement, Decision::revert, Decision::revert, false},
    {OutcomeKind::unsupported, Decision::revert, Decision::revert, false},
    {OutcomeKind::task_error, Decision::revert, Decision::revert, false},
    {OutcomeKind::environment, Decision::revert, Decision::revert, false},
    {OutcomeKind::stale, Decision::revert, Decision::revert, false},
    {OutcomeKind::interrupted, Decision::revert, Decision::revert, false},
};

TEST(State, OnlyWhatWasBuiltAndJudgedMakesWay) {
  for (const Row& row : k_rows) {
    SCOPED_TRACE(model::to_string(row.kind));
    const bool judged = row.counts || row.kind == OutcomeKind::incorrect ||
                        row.kind == OutcomeKind::suspect ||
                        row.kind == OutcomeKind::launch_failed ||
                        row.kind == OutcomeKind::crashed || row.kind == OutcomeKind::timeout;
    EXPECT_EQ(makes_way(row.kind, true), judged);
    EXPECT_FALSE(makes_way(row.kind, false)); // a compiler that did not come to an end: timeout
  }
}

TEST(State, OnlyAnImprovementIsKeptAndOnlyWhatIsCorrectCanBeFlagged) {
  for (const Row& row : k_rows) {
    SCOPED_TRACE(model::to_string(row.kind));
    EXPECT_EQ(decide(verdict(row.kind), std::nullopt).decision, row.plain);
    Step flagged = decide(verdict(row.kind), "needs fewer registers");
    EXPECT_EQ(flagged.decision, row.flagged);
    if (row.flagged == Decision::flag) {
      EXPECT_EQ(flagged.reason, "needs fewer registers");
    } else {
      EXPECT_THAT(flagged.reason, HasSubstr("why"));
    }
  }
}

TEST(State, ARefusedFlagSaysWhy) {
  EXPECT_THAT(decide(verdict(OutcomeKind::incorrect), "but it is fast").reason,
              HasSubstr("a flag keeps only what is correct"));
  EXPECT_THAT(decide(verdict(OutcomeKind::incorrect), std::nullopt).reason,
              testing::Not(HasSubstr("flag")));
}

TEST(State, TheThirdInARowStallsAndNoOtherOutcomeDoes) {
  for (const Row& row : k_rows)
    for (int before = 0; before < 4; ++before) {
      SCOPED_TRACE(testing::Message() << model::to_string(row.kind) << " after " << before);
      ledger::Standing standing;
      standing.not_better_in_a_row = before;
      EXPECT_EQ(stalls(standing, verdict(row.kind), Explore::no, ""), row.counts && before >= 2);
      EXPECT_FALSE(stalls(standing, verdict(row.kind), Explore::yes, ""));
      EXPECT_FALSE(stalls(standing, verdict(row.kind), Explore::no, "a new direction"));
    }
}

/// The same through a ledger: what the row of iterations on record makes of it.
class StallOnRecord : public testing::Test {
protected:
  StallOnRecord() : m_dir(base::TemporaryDir::make("ako-test-state").value()) {}

  void append(OutcomeKind kind, Explore explore = Explore::no) {
    ledger::Iteration iteration;
    iteration.number = ++m_number;
    iteration.hypothesis = "h";
    iteration.lane = "cpu";
    iteration.explore = explore;
    iteration.snapshot.hash = base::Hash(64, 'a');
    iteration.verdict = verdict(kind);
    iteration.decision = decide(iteration.verdict, std::nullopt).decision;
    record(iteration);
  }
  template <class Payload> void record(const Payload& payload) {
    auto writer = ledger::Writer::open(path(), ledger::Open::create);
    ASSERT_TRUE(writer) << writer.error().text();
    auto appended = writer->append(payload);
    ASSERT_TRUE(appended) << appended.error().text();
  }
  ledger::Standing standing() {
    auto reader = ledger::Reader::open(path());
    EXPECT_TRUE(reader);
    auto now = reader->standing();
    EXPECT_TRUE(now);
    return now ? *now : ledger::Standing{};
  }
  bool next_would_stall() {
    return stalls(standing(), verdict(OutcomeKind::equivalent), Explore::no, "");
  }
  base::fs::path path() const { return m_dir.path() / "ledger.sqlite"; }

  base::TemporaryDir m_dir;
  std::int64_t m_number = 0;
};

TEST_F(StallOnRecord, TwoAndOneMore) {
  append(OutcomeKind::equivalent);
  EXPECT_FALSE(next_would_stall());
  append(OutcomeKind::undecided);
  EXPECT_TRUE(next_would_stall());
}

TEST_F(StallOnRecord, FailedOnesNeitherCountNorBreakTheRow) {
  append(OutcomeKind::regressed);
  append(OutcomeKind::incorrect);
  append(OutcomeKind::build_failed);
  EXPECT_FALSE(next_would_stall());
  append(OutcomeKind::equivalent);
  EXPECT_TRUE(next_would_stall());
}

TEST_F(StallOnRecord, ExploringStandsApart) {
  append(OutcomeKind::equivalent);
  append(OutcomeKind::equivalent, Explore::yes);
  append(OutcomeKind::regressed, Explore::yes);
  EXPECT_FALSE(next_would_stall());
}

TEST_F(StallOnRecord, AnImprovementBeginsAnew) {
  append(OutcomeKind::equivalent);
  append(OutcomeKind::equivalent);
  append(OutcomeKind::improved);
  EXPECT_FALSE(next_would_stall());
  append(OutcomeKind::equivalent);
  EXPECT_FALSE(next_would_stall());
}

TEST_F(StallOnRecord, AStallHoldsUntilADirectionComes) {
  append(OutcomeKind::equivalent);
  append(OutcomeKind::equivalent);
  append(OutcomeKind::equivalent);
  EXPECT_FALSE(standing().stall_event);
  record(ledger::Stall{3, k_stall_after, {}, {"lesson"}});
  EXPECT_TRUE(standing().stall_event);
  record(ledger::Direction{"less traffic", "cpu", 3});
  EXPECT_FALSE(standing().stall_event);
  EXPECT_FALSE(next_would_stall());
}

ledger::IterationRow row(std::int64_t number, OutcomeKind kind, Decision decision,
                         std::optional<double> gain) {
  ledger::IterationRow out;
  out.number = number;
  out.outcome = kind;
  out.decision = decision;
  out.gain = gain;
  out.hypothesis = "try " + std::to_string(number);
  return out;
}

TEST(State, LessonsBeginAfterTheIncumbentCame) {
  auto lines = lessons({row(1, OutcomeKind::equivalent, Decision::revert, 0.001),
                        row(2, OutcomeKind::improved, Decision::keep, 0.2),
                        row(3, OutcomeKind::regressed, Decision::revert, -0.051),
                        row(4, OutcomeKind::incorrect, Decision::revert, std::nullopt)});
  EXPECT_THAT(lines, testing::ElementsAre("iteration 3: try 3: regressed, -5.1 %",
                                          "iteration 4: try 4: incorrect"));
  EXPECT_THAT(lessons({row(1, OutcomeKind::undecided, Decision::flag, 0.01)}), testing::IsEmpty());
  EXPECT_THAT(lessons({}), testing::IsEmpty());
}

TEST(State, NextNamesWhatStandsWhatIsMissingAndOneCommand) {
  ledger::Standing standing;
  Next next = next_step(standing, {"nothing shows yet", "no baseline"}, "ako check");
  EXPECT_EQ(next.stands, "no baseline yet");
  EXPECT_EQ(next.missing, "nothing shows yet; no baseline");
  EXPECT_EQ(next.command, "ako check");
  standing.baseline_event = 4;
  next = next_step(standing, {}, "");
  EXPECT_EQ(next.stands, "the baseline is the incumbent");
  EXPECT_EQ(next.missing, "");
  EXPECT_THAT(next.command, HasSubstr("ako try --hypothesis"));
  standing.incumbent = row(7, OutcomeKind::improved, Decision::keep, 0.1);
  EXPECT_EQ(next_step(standing, {}, "").stands, "incumbent: iteration 7 (try 7)");
}

} // namespace
} // namespace ako::loop
