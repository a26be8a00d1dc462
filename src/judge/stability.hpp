// Several runs on the same content: bit-identical, equal up to the order of sums, or not the same
// answer.
#pragma once

#include "judge/compare.hpp"

#include <functional>

namespace ako::judge {

enum class Stability { stable, reorder_noise, unstable };
const char* to_string(Stability value);

struct StabilityResult {
  Stability kind = Stability::stable;
  int runs = 0, different_runs = 0;    ///< different from the first, bit for bit
  std::int64_t different_elements = 0; ///< in the run that differs most
  double largest = 0;                  ///< largest |difference| / allowed between two runs
  std::string reason;
};

/// Holds one of the runs against the property it must have.
using RunJudge = std::function<base::Expected<CompareResult>(std::size_t run)>;

/// `runs`: outputs of the same tensor on the same content. Stable: the same bits in every element.
/// Reorder noise: as good an answer each time: close and exact values within the tolerance of the
/// first run, sets of the same members, properties that hold (`by_property` says so of each run).
/// Anything else that differs is unstable.
base::Expected<StabilityResult> classify_repeats(const model::ResolvedTensor& tensor,
                                                 std::span<const std::span<const std::byte>> runs,
                                                 model::Compare how, const Tolerance& tolerance,
                                                 const RunJudge& by_property = {});

enum class Determinism { undeclared, declared };

/// Decisive when unstable, or when determinism was declared and the runs are not bit-identical.
std::vector<model::Evidence> stability_evidence(const StabilityResult& result,
                                                Determinism determinism, const std::string& where);

} // namespace ako::judge
