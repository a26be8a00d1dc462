// The reference as a function from inputs to answers: what the contract's self-test asks.
#pragma once

#include "evaluation/request.hpp"
#include "judge/probes.hpp"

namespace ako::evaluation {

/// Runs the reference of `stage` on each case. `shapes` are those of the self-test. A reference
/// that fails is an error of kind invalid with its words.
judge::Oracle make_oracle(Stage& stage, const std::vector<model::ResolvedShape>& shapes);

/// The contract's self-test on its smallest shapes (fresh buffers of at most `most_bytes`). Recipes
/// that no probe needs stay where the incumbent passes on them.
base::Expected<judge::SelfTestReport> self_test(Stage& stage, const Request& request,
                                                std::int64_t most_bytes);

} // namespace ako::evaluation
