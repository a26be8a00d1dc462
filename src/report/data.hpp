// Everything a report shows, read from the ledger once.
#pragma once

#include "ledger/queries.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ako::report {

/// One guide as it stands on record: the edition that was read last.
struct GuideRead {
  std::string id, title;
  base::Hash hash;
  std::int64_t ts_ns = 0; ///< when
  int times = 0;          ///< how often, whatever the edition
};

struct Data {
  ledger::Standing standing;
  std::optional<ledger::TaskCreated> task;
  std::optional<ledger::ContractSeen> contract;
  std::optional<ledger::SelfTest> self_test;
  std::optional<ledger::Environment> environment;
  std::vector<GuideRead> readings; ///< in the order in which they were first read
  std::optional<ledger::Recorded<ledger::Baseline>> baseline;
  std::optional<ledger::Recorded<ledger::Iteration>> incumbent; ///< absent = the baseline stands
  std::optional<ledger::SecondOpinion> second_opinion;          ///< about the incumbent
  base::Json incumbent_evaluation; ///< its blob "evaluation": correctness case by case
  std::vector<ledger::Recorded<ledger::Iteration>> iterations; ///< rising; the last `most`
  std::int64_t left_out = 0;                   ///< earlier iterations that are not in `iterations`
  std::map<std::int64_t, std::string> commits; ///< by iteration
  std::vector<ledger::Recorded<ledger::Waiver>> waivers;
  std::vector<ledger::Recorded<ledger::Stall>> stalls;
  std::vector<ledger::Recorded<ledger::Direction>> directions;
  std::vector<ledger::Recorded<ledger::Profile>> profiles;
  std::vector<ledger::Recorded<ledger::Port>> ports;
  std::vector<ledger::Recorded<ledger::Validation>> validations;
  std::vector<ledger::Recorded<ledger::Note>> notes;
  std::vector<ledger::Recorded<ledger::Interrupted>> interruptions;
};

/// "references/loop.md": the guide's file as it comes with ako.
std::string guide_file(const GuideRead& guide);

inline constexpr std::int64_t k_most_iterations = 1000;

base::Expected<Data> collect(ledger::Reader& reader, std::int64_t most = k_most_iterations);

/// The gain that may be claimed: the incumbent's against the baseline.
struct Claim {
  model::Verdict verdict;
  std::string label; ///< "confirmed by a second opinion", "not confirmed", ...
  bool confirmed = false;
  std::int64_t tried = 1; ///< candidates that it was chosen among
  bool fresh = true;      ///< not from the samples that chose it, where it was chosen among several
};
/// Nothing when no candidate was kept or none was measured against the baseline.
std::optional<Claim> claim(const Data& data);

/// How far the incumbent came in the target: "", "measured", "integrated", "confirmed", "rejected".
std::string port_state(const Data& data);

/// What the judge did not look at, for want of time, memory or a lawful size, as an iteration's
/// blob "evaluation" says.
std::vector<std::string> unproven(const base::Json& evaluation);

/// What is not shown by this record, one sentence each: missing second opinion, waivers' gates,
/// self-timed results, what the judge did not look at, untested notes, iterations cut from the
/// list.
std::vector<std::string> untested(const Data& data);

} // namespace ako::report
