// Every way a worker can end, for each side.
#include "evaluation/failures.hpp"

#include "client/endings.hpp"
#include "fakes/fake_stage.hpp"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::evaluation {
namespace {

using client::FailureKind;
using model::Fault;
using model::OutcomeKind;
using model::Side;

TEST(Failures, AsATable) {
  struct TableRow {
    FailureKind kind;
    OutcomeKind outcome;
    Fault fault;
  };
  const TableRow rows[] = {
      {FailureKind::returned_error, OutcomeKind::launch_failed, Fault::candidate},
      {FailureKind::load_failed, OutcomeKind::launch_failed, Fault::candidate},
      {FailureKind::threw, OutcomeKind::crashed, Fault::candidate},
      {FailureKind::crashed, OutcomeKind::crashed, Fault::candidate},
      {FailureKind::exited, OutcomeKind::crashed, Fault::candidate},
      {FailureKind::output_flood, OutcomeKind::crashed, Fault::candidate},
      {FailureKind::disk_filled, OutcomeKind::crashed, Fault::candidate},
      {FailureKind::too_many_threads, OutcomeKind::crashed, Fault::candidate},
      {FailureKind::out_of_memory, OutcomeKind::crashed, Fault::candidate},
      {FailureKind::hung, OutcomeKind::timeout, Fault::candidate},
      {FailureKind::violation, OutcomeKind::suspect, Fault::candidate},
      {FailureKind::forbidden_call, OutcomeKind::suspect, Fault::candidate},
      {FailureKind::stale, OutcomeKind::stale, Fault::machine},
      {FailureKind::environment, OutcomeKind::environment, Fault::machine},
  };
  for (const TableRow& row : rows) {
    SCOPED_TRACE(client::to_string(row.kind));
    const auto failure = fakes::failure(row.kind, "words");
    const auto mine = outcome_of(failure, Side::candidate, "N=64");
    EXPECT_EQ(mine.kind, row.outcome);
    EXPECT_EQ(mine.fault, row.fault);
    const bool machine = row.kind == FailureKind::environment;
    for (Side side : {Side::incumbent, Side::reference}) {
      const auto other = outcome_of(failure, side, "N=64");
      EXPECT_EQ(other.kind, machine ? OutcomeKind::environment : OutcomeKind::task_error);
      EXPECT_EQ(other.fault, machine ? Fault::machine : Fault::task);
    }
  }
}

/// A worker that was ended by a signal, with so much memory around it.
client::WorkerFailure ended(int signal, const client::MemorySeen& memory) {
  client::Incident incident;
  incident.kind = client::Incident::Kind::died;
  incident.ending.signal = signal;
  return client::failure_of(incident, "call", {}, memory);
}

TEST(Failures, WhereMemoryRanOutTheOneThatTookItIsAtFault) {
  constexpr std::int64_t k_gib = 1 << 30;
  struct TableRow {
    client::MemorySeen memory;
    FailureKind kind;
    OutcomeKind outcome;
    Fault fault;
  };
  const TableRow rows[] = {
      {{8 * k_gib, 7 * k_gib, true},
       FailureKind::out_of_memory,
       OutcomeKind::crashed,
       Fault::candidate},
      {{8 * k_gib, 4 * k_gib, true},
       FailureKind::out_of_memory,
       OutcomeKind::crashed,
       Fault::candidate},
      // Somebody else filled it, ako's own buffers most of all.
      {{8 * k_gib, k_gib, true},
       FailureKind::environment,
       OutcomeKind::environment,
       Fault::machine},
      {{0, 0, true}, FailureKind::out_of_memory, OutcomeKind::crashed, Fault::candidate},
      {{INT64_MAX, k_gib, std::nullopt},
       FailureKind::environment,
       OutcomeKind::environment,
       Fault::machine},
      // Memory was not short: it sent the signal itself.
      {{8 * k_gib, 0, false}, FailureKind::crashed, OutcomeKind::crashed, Fault::candidate},
  };
  for (const TableRow& row : rows) {
    SCOPED_TRACE(row.memory.own_bytes);
    const auto failure = ended(SIGKILL, row.memory);
    EXPECT_EQ(failure.kind, row.kind);
    EXPECT_EQ(failure.data.at("own_bytes"), row.memory.own_bytes);
    const auto outcome = outcome_of(failure, Side::candidate, "N=64");
    EXPECT_EQ(outcome.kind, row.outcome);
    EXPECT_EQ(outcome.fault, row.fault);
  }
  EXPECT_THAT(ended(SIGKILL, {8 * k_gib, k_gib, true}).error.text(),
              testing::AllOf(testing::HasSubstr("1024.0 MiB of the 8192.0 MiB that were free"),
                             testing::HasSubstr("limits.memory_bytes")));
  EXPECT_EQ(ended(SIGSEGV, {8 * k_gib, 0, true}).kind, FailureKind::crashed);
}

TEST(Failures, TheReasonSaysSidePlaceAndWordsAndTheEvidenceKeepsItsOutput) {
  auto failure = fakes::failure(FailureKind::crashed, "SIGSEGV");
  failure.out = "printed";
  failure.err = "complained";
  auto outcome = outcome_of(failure, Side::candidate, "N=64");
  EXPECT_EQ(outcome.reason, "candidate at shape N=64: SIGSEGV");
  ASSERT_EQ(outcome.evidence.size(), 1u);
  EXPECT_EQ(outcome.evidence[0].data.at("stdout"), "printed");
  EXPECT_EQ(outcome.evidence[0].data.at("stderr"), "complained");
  EXPECT_EQ(outcome.evidence[0].data.at("failure"), "crashed");
  EXPECT_EQ(outcome.evidence[0].data.at("during"), "call");
  outcome = outcome_of(failure, Side::candidate, "");
  EXPECT_EQ(outcome.reason, "candidate while loading: SIGSEGV");
}

} // namespace
} // namespace ako::evaluation
