// Wrong in one way each, beside an honest twin that differs by as little: every guard catches the
// one and lets the other pass.
#include "fakes/fake_stage.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace ako {
namespace {

using fakes::Call;
using fakes::honest;
using fakes::Moment;
using fakes::right;
using fakes::Script;
using fakes::World;
using model::OutcomeKind;
using testing::HasSubstr;

Script runs(std::function<void(Call&)> run) {
  Script out;
  out.run = std::move(run);
  return out;
}

struct Guard {
  const char* name;
  Script culprit, twin;
  OutcomeKind outcome;
  const char* evidence; ///< name of the guard that decided
  const char* says;     ///< part of the reason
};

/// Keeps one answer by what `key` says of a call: wrong as soon as two contents share a key.
Script remembering(std::function<std::vector<double>(const Call&)> key) {
  auto kept = std::make_shared<std::map<std::vector<double>, std::vector<double>>>();
  return runs([kept, key = std::move(key)](Call& call) {
    auto [at, fresh] = kept->try_emplace(key(call));
    if (fresh)
      for (double x : call.x) at->second.push_back(right(x));
    for (std::int64_t i = 0; i < call.size(); ++i)
      call.write(i, at->second[static_cast<std::size_t>(i)]);
  });
}

std::vector<Guard> guards() {
  return {
      {"wrong on the last element of a shape that is no multiple of 16",
       fakes::writes([](double x, std::int64_t i, const Moment& at) {
         return i + 1 == at.shape->axes.at("N") && i % 16 == 0 ? right(x) + 1 : right(x);
       }),
       fakes::writes([](double x, std::int64_t, const Moment&) { return right(x) * (1 + 1e-7); }),
       OutcomeKind::incorrect, "compare", "shape edge:N="},
      {"wrong by one part in a hundred",
       fakes::writes([](double x, std::int64_t, const Moment&) { return 1.01 * right(x); }),
       fakes::writes([](double x, std::int64_t, const Moment&) { return right(x); }),
       OutcomeKind::incorrect, "compare", ""},
      {"NaN where a number is due", fakes::writes([](double x, std::int64_t i, const Moment&) {
         return i == 3 ? std::nan("") : right(x);
       }),
       fakes::writes([](double x, std::int64_t, const Moment&) { return right(x); }),
       OutcomeKind::incorrect, "compare", ""},
      {"the last element is not written", runs([](Call& call) {
         for (std::int64_t i = 0; i + 1 < std::max<std::int64_t>(call.size(), 2); ++i)
           call.write(i, right(call.x[static_cast<std::size_t>(i)]));
       }),
       runs(honest), OutcomeKind::incorrect, "unwritten_elements", "not written"},
      {"an input is changed", runs([](Call& call) {
         honest(call);
         call.x.back() += 1;
       }),
       runs([](Call& call) {
         honest(call);
         call.x.back() += 0;
       }),
       OutcomeKind::incorrect, "changed_input", "was modified"},
      {"writes behind its output", runs([](Call& call) {
         honest(call);
         call.past_end = 4;
       }),
       runs(honest), OutcomeKind::incorrect, "red_zone", "overwritten"},
      {"keeps the answer of each buffer", remembering([](const Call& call) {
         return std::vector<double>{double(call.at.set), double(call.size())};
       }),
       remembering([](const Call& call) { return call.x; }), OutcomeKind::incorrect, "compare", ""},
      {"keeps the answer while the sign of one element stays", remembering([](const Call& call) {
         return std::vector<double>{double(call.x[0] > 0), double(call.size())};
       }),
       remembering([](const Call& call) { return call.x; }), OutcomeKind::incorrect, "compare", ""},
      {"right for the first hundred calls",
       fakes::writes(
           [](double x, std::int64_t, const Moment& at) { return at.call < 100 ? right(x) : 0; }),
       fakes::writes([](double x, std::int64_t, const Moment&) { return right(x); }),
       OutcomeKind::incorrect, "compare", ""},
      {"another answer at every call", fakes::writes([](double x, std::int64_t, const Moment& at) {
         return right(x) + 1e-3 * double(at.call);
       }),
       fakes::writes([](double x, std::int64_t, const Moment& at) {
         return right(x) * (1 + 1e-7 * double(at.call % 2));
       }),
       OutcomeKind::incorrect, "compare", ""},
  };
}

TEST(Guards, EachCatchesItsCulprit) {
  for (const Guard& guard : guards()) {
    SCOPED_TRACE(guard.name);
    World world({64, 4096});
    world.candidate = guard.culprit;
    const auto report = world.evaluate();
    EXPECT_EQ(report.verdict.outcome.kind, guard.outcome) << report.verdict.outcome.reason;
    EXPECT_EQ(report.verdict.outcome.fault, model::default_fault(guard.outcome));
    EXPECT_THAT(report.verdict.outcome.reason, HasSubstr(guard.says));
    bool found = false;
    for (const auto& evidence : report.verdict.outcome.evidence) {
      if (evidence.guard != guard.evidence) continue;
      found = true;
      EXPECT_TRUE(evidence.decisive);
      EXPECT_FALSE(evidence.text.empty());
      // Enough to see it again: shape and seed.
      EXPECT_FALSE(evidence.data.at("place").at("shape").get<std::string>().empty());
      EXPECT_THAT(evidence.data.at("place").at("seed").get<std::string>(), HasSubstr("0x"));
    }
    EXPECT_TRUE(found) << guard.evidence << " is no evidence of it";
  }
}

TEST(Guards, EachLetsTheHonestTwinPass) {
  for (const Guard& guard : guards()) {
    SCOPED_TRACE(guard.name);
    World world({64, 4096});
    world.candidate = guard.twin;
    const auto report = world.evaluate();
    EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::equivalent)
        << report.verdict.outcome.reason;
  }
}

/// Right, and by a hundredth off at every second call, where `at.shape` is large.
Script unsteady(std::int64_t from) {
  return fakes::writes([from](double x, std::int64_t, const Moment& at) {
    const bool off = at.shape->axes.at("N") >= from && at.call % 2 == 1;
    return right(x) + (off ? 1e-2 : 0);
  });
}

TEST(Guards, AReferenceThatContradictsItselfIsNotHeldAgainstTheCandidate) {
  for (const char* role : {"out", "inout"}) {
    SCOPED_TRACE(role);
    World world({64, 4096}, "", role);
    world.reference = unsteady(4096);
    const auto report = world.evaluate();
    EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::task_error);
    EXPECT_EQ(report.verdict.outcome.fault, model::Fault::task);
    EXPECT_THAT(report.verdict.outcome.reason, HasSubstr("run again on the same inputs"));
    EXPECT_THAT(report.verdict.outcome.reason, HasSubstr("N=4096"));
    // A steady one is believed, and so is one whose noise is far below the tolerance.
    World steady({64, 4096}, "", role);
    steady.candidate = unsteady(4096);
    EXPECT_EQ(steady.evaluate().verdict.outcome.kind, OutcomeKind::incorrect);
    steady.reference = fakes::writes([](double x, std::int64_t, const Moment& at) {
      return right(x) * (1 + 1e-12 * static_cast<double>(at.call % 2));
    });
    EXPECT_EQ(steady.evaluate().verdict.outcome.kind, OutcomeKind::incorrect);
  }
}

TEST(Guards, InputsThatNeverChangeAreSaid) {
  const auto said = [](const std::string& fill) {
    World world({64}, "", "out", fill);
    world.candidate.ns = [](const Moment&) { return 50e3; };
    const auto report = world.evaluate();
    EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::improved) << report.verdict.outcome.reason;
    const auto& evidence = report.verdict.outcome.evidence;
    const bool sign = std::any_of(evidence.begin(), evidence.end(),
                                  [](const auto& each) { return each.guard == "content_repeats"; });
    const bool unproven =
        report.correctness.at("unproven").dump().find("the same inputs") != std::string::npos;
    EXPECT_EQ(sign, unproven);
    return sign;
  };
  EXPECT_TRUE(said("fill = { kind = \"uniform\", low = 1, high = 1 }\n"));
  EXPECT_FALSE(said("fill = { kind = \"uniform\", low = 1, high = 1.001 }\n"));
}

TEST(Guards, ADeclaredDeterminismIsHeld) {
  World world;
  world.candidate = fakes::writes([](double x, std::int64_t, const Moment& at) {
    return right(x) * (1 + 2e-7 * double(at.call / 2 % 2)); // the two sets take turns
  });
  EXPECT_EQ(world.evaluate().verdict.outcome.kind, OutcomeKind::equivalent);
  World strict;
  auto contract = strict.contract();
  contract.kernel.deterministic = true;
  strict.candidate = world.candidate;
  auto request = strict.request();
  request.contract = &contract;
  auto report = evaluation::evaluate(request, strict.factory());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verdict.outcome.kind, OutcomeKind::incorrect);
  EXPECT_EQ(report->verdict.outcome.evidence.at(0).guard, "stability");
}

TEST(Guards, AWrongAnswerOnHiddenShapesAloneIsSeenByTheSecondOpinion) {
  World world;
  world.candidate = fakes::writes([](double x, std::int64_t, const Moment& at) {
    return at.shape->tag.starts_with("hidden") ? 0 : right(x);
  });
  world.candidate.ns = [](const Moment&) { return 50e3; };
  ASSERT_FALSE(world.request().hidden.empty());
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::incorrect) << report.verdict.outcome.reason;
  EXPECT_FALSE(report.verdict.confirmed);
  EXPECT_EQ(world.rounds, 2);
}

TEST(Guards, InPlaceAnswersAreJudgedOnTheContentThatStoodThere) {
  for (bool wrong : {true, false}) {
    World world({64}, "", "inout");
    if (wrong)
      world.candidate = runs([](Call& call) {
        if (call.at.call % 2 == 0) honest(call); // every other call leaves it as it was
      });
    const auto report = world.evaluate();
    EXPECT_EQ(report.verdict.outcome.kind, wrong ? OutcomeKind::incorrect : OutcomeKind::equivalent)
        << report.verdict.outcome.reason;
  }
}

/// What a tampered worker may claim of a block.
struct Claim {
  const char* name;
  std::function<void(client::SampleReport&)> bend;
  OutcomeKind outcome;
  const char* evidence;
};

TEST(Guards, ClaimsAreHeldAgainstTheParentsOwnClockAndCount) {
  const Claim claims[] = {
      {"fewer calls than ordered", [](client::SampleReport& r) { r.calls -= 1; },
       OutcomeKind::suspect, "skipped_calls"},
      {"no time at all", [](client::SampleReport& r) { r.pass_ns = 0; }, OutcomeKind::suspect,
       "time_claim"},
      {"not a number", [](client::SampleReport& r) { r.pass_ns = std::nan(""); },
       OutcomeKind::suspect, "time_claim"},
      {"longer than the parent waited", [](client::SampleReport& r) { r.pass_ns = 1e9; },
       OutcomeKind::invalid_measurement, "beyond_wall"},
      {"a process left behind", [](client::SampleReport& r) { r.children = 1; },
       OutcomeKind::suspect, "stray_processes"},
  };
  for (const Claim& claim : claims) {
    SCOPED_TRACE(claim.name);
    World world;
    world.candidate.bend = claim.bend;
    const auto report = world.evaluate();
    EXPECT_EQ(report.verdict.outcome.kind, claim.outcome) << report.verdict.outcome.reason;
    bool found = false;
    for (const auto& evidence : report.verdict.outcome.evidence)
      found = found || evidence.guard == claim.evidence;
    EXPECT_TRUE(found);
  }
}

TEST(Guards, WeakSignsAreKeptAndDoNotDecide) {
  World world;
  world.candidate.bend = [](client::SampleReport& r) { r.threads_after = r.threads_before + 3; };
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::equivalent);
  ASSERT_FALSE(report.verdict.outcome.evidence.empty());
  EXPECT_EQ(report.verdict.outcome.evidence[0].guard, "stray_threads");
  EXPECT_FALSE(report.verdict.outcome.evidence[0].decisive);
}

TEST(Guards, AWinBesideAWeakSignIsSeenTwiceWhateverTheContractSays) {
  for (const bool sign : {false, true}) {
    World world;
    world.candidate.ns = [](const Moment&) { return 50e3; };
    if (sign) world.candidate.bend = [](client::SampleReport& r) { r.threads_after = 1; };
    auto request = world.request();
    request.second_opinion = false;
    auto report = evaluation::evaluate(request, world.factory());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->verdict.outcome.kind, OutcomeKind::improved);
    EXPECT_EQ(world.rounds, sign ? 2 : 1);
    EXPECT_EQ(report->verdict.outcome.evidence.size(), sign ? 1u : 0u) << "said once, not a block";
  }
}

TEST(Guards, ThreadsAreCountedSinceLoadingAndAgainstWhatIsReplaced) {
  const auto signs = [](int at_load, int before, int after, int incumbent_after) {
    World world;
    world.candidate.loaded.threads_before = world.incumbent.loaded.threads_before = at_load;
    world.candidate.bend = [=](client::SampleReport& r) {
      r.threads_before = before;
      r.threads_after = after;
    };
    world.incumbent.bend = [=](client::SampleReport& r) { r.threads_after = incumbent_after; };
    return world.evaluate().verdict.outcome.evidence.size();
  };
  EXPECT_EQ(signs(1, 1, 1, 1), 0u);
  EXPECT_EQ(signs(1, 2, 2, 1), 1u) << "started in a call before this block";
  EXPECT_EQ(signs(2, 2, 2, 2), 0u);
}

TEST(Guards, FasterThanTheMachineCanBeIsInvalidAndABaselineBelowTheFloorIsTheContractsFault) {
  for (bool baseline_too : {false, true}) {
    World world({64}, "[cost]\nflops = 1000000\n");
    auto request = world.request();
    request.ceilings.flops_per_s = 1e6 / 60e-6; // the declared work takes 60 us
    world.candidate.ns = [](const Moment&) { return 30e3; };
    if (baseline_too) world.incumbent.ns = [](const Moment&) { return 50e3; };
    auto report = evaluation::evaluate(request, world.factory());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->verdict.outcome.kind,
              baseline_too ? OutcomeKind::task_error : OutcomeKind::invalid_measurement)
        << report->verdict.outcome.reason;
  }
  World honest_world({64}, "[cost]\nflops = 1000000\n");
  auto request = honest_world.request();
  request.ceilings.flops_per_s = 1e6 / 60e-6;
  honest_world.candidate.ns = [](const Moment&) { return 70e3; };
  auto report = evaluation::evaluate(request, honest_world.factory());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verdict.outcome.kind, OutcomeKind::improved) << report->verdict.outcome.reason;
}

TEST(Guards, ALoadedLibraryThatIsNotTheOneBuiltIsStale) {
  World world;
  world.candidate.loaded.hash = "other";
  auto request = world.request();
  request.candidate_hash = "built";
  auto report = evaluation::evaluate(request, world.factory());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verdict.outcome.kind, OutcomeKind::stale);
  EXPECT_THAT(world.log, testing::Not(testing::Contains("call candidate")));
  world.candidate.loaded.hash = "built";
  report = evaluation::evaluate(request, world.factory());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verdict.outcome.kind, OutcomeKind::equivalent);
}

TEST(Audit, AnEarlyWinIsGradedUntilAShareOfItsSizeWouldShow) {
  // Twice as fast, and one timed call in `every` gets no answer of its own: few placements decide,
  // and by lot few of their calls are graded.
  const auto outcome_of_seed = [](std::int64_t every) {
    World world({64});
    world.incumbent.ns = [](const Moment&) { return 200e3; };
    world.candidate = fakes::writes([every](double x, std::int64_t, const Moment& at) {
      return every > 0 && at.call > 60 && at.call % every == 0 ? right(x) + 1 : right(x);
    });
    return world.evaluate().verdict.outcome.kind;
  };
  EXPECT_EQ(outcome_of_seed(0), OutcomeKind::improved);
  int caught = 0;
  for (int run = 0; run < 20; ++run) caught += outcome_of_seed(12) == OutcomeKind::incorrect;
  EXPECT_EQ(caught, 20);
}

TEST(Audit, ABlockBehindAThousandCallsIsGraded) { // karpathy/llm.c#852
  for (const bool wrong : {true, false}) {
    for (const char* role : {"out", "inout"}) {
      World world({64}, "", role);
      world.candidate = fakes::writes([wrong](double x, std::int64_t i, const Moment& at) {
        return wrong && at.call >= 1000 && i == 63 ? 0 : right(x);
      });
      world.candidate.ns = [](const Moment&) { return 50e3; };
      const auto report = world.evaluate();
      EXPECT_EQ(report.verdict.outcome.kind, wrong ? OutcomeKind::incorrect : OutcomeKind::improved)
          << report.verdict.outcome.reason;
      EXPECT_TRUE(report.correctness.at("unproven").empty());
      if (!wrong) continue;
      EXPECT_EQ(report.verdict.outcome.evidence.at(0).guard, "wrong_later");
      EXPECT_THAT(report.verdict.outcome.reason, HasSubstr("right at first, wrong after 1"));
      EXPECT_EQ(world.rounds, 1);
    }
  }
}

TEST(Audit, CallsThatThereIsNoTimeForAreNamed) {
  World world;
  world.incumbent.ns = [](const Moment&) { return 8e6; };
  world.candidate.ns = [](const Moment& at) {
    if (at.call > 200) std::this_thread::sleep_for(std::chrono::milliseconds(4));
    return 4e6;
  };
  const auto report = world.evaluate();
  EXPECT_EQ(report.verdict.outcome.kind, OutcomeKind::improved) << report.verdict.outcome.reason;
  ASSERT_EQ(report.correctness.at("unproven").size(), 1u);
  EXPECT_THAT(report.correctness.at("unproven")[0].get<std::string>(),
              HasSubstr("N=64: what comes after"));
}

} // namespace
} // namespace ako
