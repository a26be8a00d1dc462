// Correct first: every contract shape, edge shapes, every judged recipe, repeats and bursts.
#pragma once

#include "evaluation/grading.hpp"
#include "judge/precision.hpp"

#include <optional>

namespace ako::evaluation {

/// One thing to be judged.
struct Case {
  const model::ResolvedShape* shape = nullptr;
  inputs::Recipe recipe = inputs::Recipe::plain;
  int sets = 2;           ///< contents
  int repeats = 1;        ///< runs on the same content
  bool precision = false; ///< the incumbent's error is taken beside the candidate's
  bool unmarked = false;  ///< once more on new content, over an old answer and no marks
};

/// Smallest shapes first, so that a wrong candidate ends early. Of shapes above 16 MiB a set the
/// contract's smallest is judged like a small one, all others on one content; recipes are judged at
/// small shapes, whatever the contract's sizes are. What is left out of the contract's own shapes,
/// or does not fit, is named.
struct CasePlan {
  std::vector<Case> cases;
  std::vector<std::string> unproven; ///< "prefill-huge: needs 300.0 MiB, 24.0 MiB are free"
  std::string blocked; ///< the first of them that is one of the contract's own; empty = none is
};
CasePlan plan_cases(const Request& request, const std::vector<model::ResolvedShape>& edges,
                    std::int64_t free_bytes);

struct Correctness {
  std::optional<model::Outcome> ended;       ///< not correct, or not judged to the end
  std::vector<model::Evidence> weak;         ///< signs that ask for more scrutiny
  std::optional<judge::Precision> precision; ///< the worst seen
  base::Json lines = base::Json::array();
  std::vector<std::string> unproven;
};

/// Errors are ako's or the machine's; whatever the candidate does is in the result.
base::Expected<Correctness> judge_candidate(Stage& stage, const Request& request,
                                            const std::vector<model::ResolvedShape>& edges,
                                            std::uint64_t seed, const char* phase);

/// Runs plan and prepare where the side has them; they follow a fill.
Answer<void> make_ready(Stage& stage, model::Side side);

} // namespace ako::evaluation
