// Choosing the best of many candidates without believing it for that.
#pragma once

#include "base/error.hpp"

#include <span>
#include <vector>

namespace ako::stats {

/// alpha / k.
double bonferroni(double alpha, int candidates);
/// Holm's step-down: which hypotheses may be rejected at family-wise `alpha`, in the given order.
/// P-values outside [0, 1] or NaN: kind invalid.
base::Expected<std::vector<bool>> holm(std::span<const double> p_values, double alpha);

/// Where the samples behind a claim come from.
enum class Evidence { selection, fresh };
/// The rule for winners: a figure from the samples that chose the winner among several never
/// counts; it must be measured again. One candidate needs no second measurement for this reason.
enum class Claim { stands, measure_again };
Claim winner_rule(int candidates, Evidence evidence);

} // namespace ako::stats
