// Why a contract cannot judge: what was wrong, where in the task, what is allowed, what to do.
#pragma once

#include "evaluation/evaluate.hpp"
#include "judge/probes.hpp"
#include "model/contract.hpp"

#include <filesystem>
#include <string>

namespace ako::loop {

/// What the contract is, and where task.toml says so.
struct Judged {
  const model::Contract& contract;
  std::filesystem::path task;
};

/// The self-test has faults: of the reference, or of what cannot tell a wrong answer from it.
base::Error self_test_error(const Judged& judged, const judge::SelfTestReport& report);
/// `against` was measured against itself and that is no draw.
base::Error no_draw_error(const Judged& judged, const std::string& against,
                          const model::Outcome& outcome);
base::Error slow_down_error(const Judged& judged, const model::Outcome& outcome);
base::Error canary_error(const Judged& judged, const std::string& path);
/// solution/ does not build, or what it compiles at its first call does not.
base::Error solution_error(const Judged& judged, base::Error error);

} // namespace ako::loop
