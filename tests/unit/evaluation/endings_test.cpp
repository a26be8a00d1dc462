// How an evaluation ends before it comes to statistics, and whose fault that is.
#include "fakes/fake_stage.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace ako {
namespace {

using client::FailureKind;
using fakes::Moment;
using fakes::Side;
using fakes::World;
using model::Fault;
using model::OutcomeKind;
using testing::HasSubstr;

/// Fails from the n-th call of a round on.
std::function<std::optional<client::WorkerFailure>(const Moment&)> from_call(int n,
                                                                             FailureKind kind) {
  return [n, kind](const Moment& at) -> std::optional<client::WorkerFailure> {
    if (at.call < n) return std::nullopt;
    return fakes::failure(kind, "what the worker said");
  };
}

struct Ending {
  FailureKind kind;
  OutcomeKind outcome;
};
const Ending k_endings[] = {
    {FailureKind::returned_error, OutcomeKind::launch_failed},
    {FailureKind::threw, OutcomeKind::crashed},
    {FailureKind::crashed, OutcomeKind::crashed},
    {FailureKind::exited, OutcomeKind::crashed},
    {FailureKind::out_of_memory, OutcomeKind::crashed},
    {FailureKind::output_flood, OutcomeKind::crashed},
    {FailureKind::disk_filled, OutcomeKind::crashed},
    {FailureKind::too_many_threads, OutcomeKind::crashed},
    {FailureKind::hung, OutcomeKind::timeout},
    {FailureKind::violation, OutcomeKind::suspect},
    {FailureKind::forbidden_call, OutcomeKind::suspect},
};

/// At the first call, while judging later on, and in the middle of measuring.
constexpr int k_moments[] = {0, 9, 60};

TEST(Endings, TheCandidatesFailuresAreItsOwnWheneverTheyCome) {
  for (const Ending& ending : k_endings)
    for (int moment : k_moments) {
      SCOPED_TRACE(testing::Message() << client::to_string(ending.kind) << " at " << moment);
      World world;
      world.candidate.fails = from_call(moment, ending.kind);
      const auto report = world.evaluate();
      const auto& outcome = report.verdict.outcome;
      EXPECT_EQ(outcome.kind, ending.outcome);
      EXPECT_EQ(outcome.fault, Fault::candidate);
      EXPECT_THAT(outcome.reason, HasSubstr("what the worker said"));
      EXPECT_THAT(outcome.reason, HasSubstr("candidate at shape"));
      ASSERT_FALSE(outcome.evidence.empty());
      EXPECT_EQ(outcome.evidence[0].guard, "worker_ended");
      EXPECT_EQ(outcome.evidence[0].data.at("side"), "candidate");
      EXPECT_EQ(world.rounds, 1);
    }
}

TEST(Endings, ACandidateThatAlwaysAnswersIsNotEnded) {
  World world;
  world.candidate.fails = from_call(1 << 30, FailureKind::crashed);
  EXPECT_EQ(world.evaluate().verdict.outcome.kind, OutcomeKind::equivalent);
}

TEST(Endings, TheOthersFailuresAreTheTasks) {
  for (Side side : {Side::incumbent, Side::reference}) {
    World world;
    world.script(side).fails = from_call(0, FailureKind::crashed);
    const auto report = world.evaluate();
    EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::task_error);
    EXPECT_EQ(report.verdict.outcome.fault, Fault::task);
    EXPECT_THAT(report.verdict.outcome.reason, HasSubstr(model::to_string(side)));
  }
}

TEST(Endings, WhatTheMachineDoesIsNobodysFault) {
  World world;
  world.candidate.fails = [](const Moment&) {
    auto failure = fakes::failure(FailureKind::environment, "");
    failure.error = {base::ErrorKind::environment, "no memory is left", {}, {}, {}, {}};
    return std::optional(failure);
  };
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::environment);
  EXPECT_EQ(report.verdict.outcome.fault, Fault::machine);
  EXPECT_THAT(report.verdict.outcome.reason, HasSubstr("no memory is left"));
}

TEST(Endings, WhatDoesNotLoadIsLaunchFailedForTheCandidateAndATaskErrorForTheReference) {
  World world;
  world.candidate.load_fails = fakes::failure(FailureKind::load_failed, "undefined symbol: f");
  auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::launch_failed);
  EXPECT_THAT(report.verdict.outcome.reason, HasSubstr("while loading: undefined symbol: f"));
  world.candidate.load_fails.reset();
  world.reference.load_fails = fakes::failure(FailureKind::load_failed, "undefined symbol: r");
  report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::task_error);
}

TEST(Endings, AReferenceThatGivesNaNIsTheTasksFault) {
  World world;
  world.reference = fakes::writes([](double x, std::int64_t i, const Moment&) {
    return i == 0 ? std::nan("") : fakes::right(x);
  });
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::task_error);
  EXPECT_EQ(report.verdict.outcome.fault, Fault::task);
  EXPECT_THAT(report.verdict.outcome.reason, HasSubstr("reference at shape"));
}

TEST(Endings, AnIncumbentThatIsItselfWrongIsTheTasksFault) {
  World world;
  world.incumbent = fakes::writes([](double, std::int64_t, const Moment&) { return 0.0; });
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::task_error);
  EXPECT_THAT(report.verdict.outcome.reason, HasSubstr("baseline:first is itself wrong"));
}

TEST(Endings, ACrashInTheSecondOpinionOverrulesTheWin) {
  World world;
  world.candidate.ns = [](const Moment&) { return 50e3; };
  world.candidate.fails = [](const Moment& at) -> std::optional<client::WorkerFailure> {
    if (at.round == 1) return std::nullopt;
    return fakes::failure(FailureKind::crashed, "SIGSEGV");
  };
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::crashed);
  EXPECT_FALSE(report.verdict.confirmed);
}

TEST(Endings, StoppingIsInterruptedInEveryPhase) {
  struct Phase {
    const char* name;
    int round;
    bool judging;
  };
  for (const Phase& phase : {Phase{"judging", 1, true}, Phase{"measuring", 1, false},
                             Phase{"second opinion", 2, false}}) {
    SCOPED_TRACE(phase.name);
    World world;
    world.candidate.ns = [](const Moment&) { return 50e3; };
    auto request = world.request();
    std::string seen;
    request.progress = [&](const std::string& what, double) { seen = what; };
    request.stop = [&] {
      if (phase.judging) return true;
      return world.rounds == phase.round && seen == phase.name;
    };
    auto report = evaluation::evaluate(request, world.factory());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->verdict.outcome.kind, OutcomeKind::interrupted);
    EXPECT_EQ(report->verdict.outcome.fault, Fault::none);
    EXPECT_FALSE(report->verdict.confirmed);
    EXPECT_EQ(world.rounds, phase.round);
  }
}

TEST(Endings, AnEvaluationThatOutlivesItsLimitIsATimeoutInEveryPhase) {
  for (const std::string phase : {"judging", "measuring", "second opinion"}) {
    SCOPED_TRACE(phase);
    World world;
    world.candidate.ns = [](const Moment&) { return 50e3; };
    auto request = world.request();
    model::Contract hurried = *request.contract;
    hurried.limits.evaluation_seconds = 1;
    request.contract = &hurried;
    bool slept = false;
    request.progress = [&](const std::string& what, double) {
      if (what != phase || slept) return;
      slept = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    };
    auto report = evaluation::evaluate(request, world.factory());
    ASSERT_TRUE(report);
    EXPECT_TRUE(slept);
    EXPECT_EQ(report->verdict.outcome.kind, OutcomeKind::timeout);
    EXPECT_EQ(report->verdict.outcome.fault, Fault::task);
    EXPECT_NE(report->verdict.outcome.reason.find("limits.evaluation_seconds"), std::string::npos);
    EXPECT_FALSE(report->verdict.confirmed);
  }
}

TEST(Endings, AStageThatCannotBeMadeIsAnError) {
  World world;
  auto report = evaluation::evaluate(
      world.request(), []() -> base::Expected<std::unique_ptr<evaluation::Stage>> {
        return base::fail(base::ErrorKind::environment, "no keeper", {});
      });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "no keeper");
}

} // namespace
} // namespace ako
