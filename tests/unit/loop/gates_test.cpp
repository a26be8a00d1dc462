// Which gate is closed by which missing fact, and what the message says to do about it.
#include "loop/gates.hpp"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const base::Hash k_contract_hash(64, 'c'), k_machine(64, 'e'), k_other(64, '0');

/// Everything that an iteration needs is on record.
Facts complete() {
  Facts facts;
  facts.contract = facts.self_test_contract = facts.baseline_contract = k_contract_hash;
  facts.environment = facts.baseline_environment = k_machine;
  facts.self_test_passed = true;
  facts.standing.self_test_event = 2;
  facts.standing.baseline_event = 5;
  return facts;
}

std::vector<Gate> closed(Claim claim, const Facts& facts) {
  std::vector<Gate> out;
  for (const auto& gate : closed_gates(claim, facts)) out.push_back(gate.gate);
  return out;
}

TEST(Gates, NothingIsClosedWhenAllIsOnRecord) {
  for (Claim claim : {Claim::baseline, Claim::iteration, Claim::port, Claim::report})
    EXPECT_THAT(closed(claim, complete()), IsEmpty());
}

struct Missing {
  const char* name;
  std::function<void(Facts&)> spoil;
  Claim claim;
  Gate closes;
  const char* command;
  const char* says;
};

const Missing k_missing[] = {
    {"never checked", [](Facts& f) { f.standing.self_test_event.reset(); }, Claim::iteration,
     Gate::contract_proven, "ako check", "nothing shows yet"},
    {"checked another contract", [](Facts& f) { f.self_test_contract = k_other; }, Claim::baseline,
     Gate::contract_proven, "ako check", "changed since it was checked"},
    {"the check failed", [](Facts& f) { f.self_test_passed = false; }, Claim::baseline,
     Gate::contract_proven, "ako check", "failed"},
    {"the judge changed",
     [](Facts& f) { f.changed_since_check = {"input/reference.cpp (reference)"}; },
     Claim::iteration, Gate::contract_proven, "ako check", "input/reference.cpp (reference)"},
    {"the judge changed and a report claims", [](Facts& f) { f.changed_since_check = {"x"}; },
     Claim::report, Gate::contract_proven, "ako check", "changed since the contract was checked"},
    {"an old check", [](Facts& f) { f.check_names_files = false; }, Claim::baseline,
     Gate::contract_proven, "ako check", "older ako"},
    {"the baseline's files changed",
     [](Facts& f) { f.changed_since_baseline = {"input/k.cpp (baseline:first)"}; },
     Claim::iteration, Gate::baseline, "ako baseline", "input/k.cpp (baseline:first)"},
    {"an old baseline", [](Facts& f) { f.baseline_names_files = false; }, Claim::port,
     Gate::baseline, "ako baseline", "older ako"},
    {"no baseline", [](Facts& f) { f.baseline_contract.clear(); }, Claim::iteration, Gate::baseline,
     "ako baseline", "no baseline"},
    {"baseline of another contract", [](Facts& f) { f.baseline_contract = k_other; },
     Claim::iteration, Gate::baseline, "ako baseline", "changed since the baseline"},
    {"baseline of another machine", [](Facts& f) { f.baseline_environment = k_other; },
     Claim::report, Gate::baseline, "ako baseline", "another machine"},
    {"guides not read",
     [](Facts& f) {
       f.unread = {"loop", "tma (changed since it was read)"};
     },
     Claim::iteration, Gate::reading, "ako refs read --required", "loop, tma (changed"},
    {"guides of a port not read", [](Facts& f) { f.unread_for_port = {"porting-back"}; },
     Claim::port, Gate::reading, "ako refs read --required --claim port", "porting-back"},
    {"guides not found", [](Facts& f) { f.reading_trouble = "the guides were not found"; },
     Claim::iteration, Gate::reading, "ako refs", "the guides were not found"},
    {"nothing cited", [](Facts& f) { f.citation = Citation::none; }, Claim::iteration,
     Gate::citation, "ako try --cites", "neither a guide nor a finding"},
    {"stalled", [](Facts& f) { f.standing.stall_event = 9; }, Claim::iteration, Gate::direction,
     "ako try --direction", "new direction"},
    {"harness not clean", [](Facts& f) { f.harness_trouble = "AKO4ALL has changes"; },
     Claim::baseline, Gate::clean_harness, "ako preflight", "AKO4ALL has changes"},
    {"no library and no reason", [](Facts& f) { f.library_trouble = "no baseline is the fastest"; },
     Claim::port, Gate::library_baseline, "ako scope --no-library", "no baseline is the fastest"},
    {"incumbent not confirmed", [](Facts& f) { f.standing.incumbent = ledger::IterationRow{}; },
     Claim::port, Gate::second_opinion, "ako try", "no second opinion"},
};

TEST(Gates, EachMissingFactClosesItsOwnGateAndNamesTheCommandThatOpensIt) {
  for (const Missing& one : k_missing) {
    SCOPED_TRACE(one.name);
    Facts facts = complete();
    one.spoil(facts);
    auto gates = closed_gates(one.claim, facts);
    ASSERT_EQ(gates.size(), 1u);
    EXPECT_EQ(gates[0].gate, one.closes);
    EXPECT_THAT(gates[0].command, testing::StartsWith(one.command));
    EXPECT_THAT(gates[0].missing, testing::HasSubstr(one.says));
  }
}

TEST(Gates, WhatAnOlderAkoRecordedStillReports) {
  Facts facts = complete();
  facts.check_names_files = facts.baseline_names_files = false;
  EXPECT_THAT(closed(Claim::report, facts), IsEmpty());
  EXPECT_THAT(closed(Claim::iteration, facts), ElementsAre(Gate::contract_proven, Gate::baseline));
}

TEST(Gates, ABaselineNeedsNoBaseline) {
  Facts facts = complete();
  facts.baseline_contract.clear();
  EXPECT_THAT(closed(Claim::baseline, facts), IsEmpty());
}

TEST(Gates, ADirectionOpensTheLoopAfterAStall) {
  Facts facts = complete();
  facts.standing.stall_event = 9;
  EXPECT_THAT(closed(Claim::iteration, facts), ElementsAre(Gate::direction));
  facts.direction_given = true;
  EXPECT_THAT(closed(Claim::iteration, facts), IsEmpty());
  facts.direction_given = false;
  EXPECT_THAT(closed(Claim::report, facts), IsEmpty());
}

TEST(Gates, LookingAndBaselinesNeedNoReadingAndAStepThatCitesIsNotAsked) {
  Facts facts = complete();
  facts.unread = facts.unread_for_port = {"loop"};
  EXPECT_THAT(closed(Claim::baseline, facts), IsEmpty());
  EXPECT_THAT(closed(Claim::report, facts), IsEmpty());
  facts = complete();
  facts.citation = Citation::given;
  EXPECT_THAT(closed(Claim::iteration, facts), IsEmpty());
}

TEST(Gates, OnlyClaimsAboutAnIncumbentNeedItsSecondOpinion) {
  Facts facts = complete();
  facts.standing.incumbent = ledger::IterationRow{};
  EXPECT_THAT(closed(Claim::iteration, facts), IsEmpty());
  EXPECT_THAT(closed(Claim::report, facts), ElementsAre(Gate::second_opinion));
  facts.standing.second_opinion_event = 12;
  EXPECT_THAT(closed(Claim::report, facts), IsEmpty());
}

TEST(Gates, AFreshTaskIsToldTheFirstStepFirst) {
  EXPECT_THAT(closed(Claim::iteration, Facts{}),
              ElementsAre(Gate::contract_proven, Gate::baseline));
}

TEST(Gates, AClosedGateRefusesWithFindingAndRemedyAndAWaiverPasses) {
  auto gates = closed_gates(Claim::iteration, Facts{});
  auto refused = pass(gates, std::nullopt);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, base::ErrorKind::refused);
  EXPECT_EQ(refused.error().where, "gate contract-proven");
  EXPECT_EQ(refused.error().found, "closed: contract-proven, baseline");
  EXPECT_EQ(refused.error().next, "ako check");
  EXPECT_THAT(refused.error().allowed, testing::HasSubstr("--waive"));
  EXPECT_TRUE(pass(gates, "the reference is still being written"));
  EXPECT_TRUE(pass({}, std::nullopt));
}

TEST(Gates, AWaiverOpensItsOwnGateAndNoOther) {
  const auto gates = closed_gates(Claim::iteration, Facts{});
  auto refused = pass(gates, Waivers{{Gate::contract_proven, "a comment"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "gate baseline");
  EXPECT_EQ(refused.error().found, "closed: baseline");
  EXPECT_EQ(refused.error().next, "ako baseline");
  EXPECT_TRUE(pass(gates, Waivers{{Gate::contract_proven, "a"}, {Gate::baseline, "b"}}));
  EXPECT_FALSE(pass(gates, Waivers{}));
  const Waivers all = waive_all(gates, "one word");
  EXPECT_EQ(all.size(), gates.size());
  EXPECT_EQ(all.at(Gate::baseline), "one word");
  EXPECT_TRUE(waive_all(gates, std::nullopt).empty());
}

TEST(Gates, EachHasAName) {
  std::vector<std::string> names;
  for (Gate gate :
       {Gate::contract_proven, Gate::reading, Gate::baseline, Gate::direction, Gate::citation,
        Gate::clean_harness, Gate::library_baseline, Gate::second_opinion})
    names.emplace_back(to_string(gate));
  EXPECT_THAT(names, ElementsAre("contract-proven", "reading", "baseline", "direction", "citation",
                                 "clean-harness", "library-baseline", "second-opinion"));
}

} // namespace
} // namespace ako::loop
