// Is the candidate as exact as what it replaces? Both errors are measured against the same
// reference; a kernel that is faster since it computes in a narrower type is told so.
#pragma once

#include "judge/compare.hpp"

#include <string>

namespace ako::judge {

enum class PrecisionClass { same, better, lower, unknown };
const char* to_string(PrecisionClass value);

struct Precision {
  PrecisionClass kind = PrecisionClass::unknown;
  double ratio = 1;                               ///< candidate's error / baseline's error
  double candidate_error = 0, baseline_error = 0; ///< error_rms
  double floor = 0;                               ///< smallest error counted
  std::string reason;                             ///< one sentence
};

/// `lower` when the candidate's error exceeds twice the baseline's, `better` below half. Smaller
/// errors than the floor count as the floor: u / sqrt(12), what rounding the output alone leaves.
/// Where the reference has no more precision than the output (`expected` native) it errs as well,
/// by its rounding and its sums: u + sqrt(length) u_acc, with the length of the longest sum.
/// Where sums are as narrow as the output (float32, float64) it is u: in which order they are taken
/// is no precision, and of a few outputs any order may be the luckier one. Unknown for integers and
/// errors that are not finite.
Precision classify_precision(const CompareResult& candidate, const CompareResult& baseline,
                             model::Dtype output, model::Dtype expected, std::int64_t length = 1);

/// Decisive evidence "precision" when the contract fixes the precision or gives ratio_to_baseline
/// and the candidate is beyond it; a weak sign when precision is free and the class is lower; none
/// otherwise.
std::vector<model::Evidence> precision_evidence(const Precision& precision,
                                                model::PrecisionRule rule,
                                                const std::optional<double>& ratio_limit,
                                                const std::string& where);

} // namespace ako::judge
