// `ako baseline` and `ako bench`: what stands before any claim, measured.
#pragma once

#include "loop/session.hpp"
#include "loop/setup.hpp"

namespace ako::loop {

struct BaselineResult {
  ledger::Baseline baseline;
  std::vector<model::Verdict> verdicts; ///< each baseline judged and measured against itself
};

/// Judges and measures every baseline of the contract; the fastest counts. Gate: a proven contract.
base::Expected<BaselineResult>
measure_baseline(const Session& session, const std::optional<std::string>& waive,
                 const std::function<base::Status(const Session&)>& write_texts);

/// Figures of one side without a claim: "solution", "incumbent" or "baseline:<name>". Recorded as
/// a bench event when something is on record already.
base::Expected<ledger::Bench> bench(const Session& session, const std::string& what);

} // namespace ako::loop
