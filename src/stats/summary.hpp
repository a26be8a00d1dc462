// Robust summaries of a handful of numbers. Pure; the input is copied where it must be ordered.
#pragma once

#include "base/error.hpp"

#include <span>
#include <vector>

namespace ako::stats {

/// All of these need at least one value and finite values (checked); callers with data from outside
/// go through `usable` first.
double mean(std::span<const double> values);
/// Sample variance with n - 1; 0 for one value.
double variance(std::span<const double> values);
double median(std::span<const double> values);
/// Linear interpolation between order statistics (h = (n - 1) q), 0 <= q <= 1.
double quantile(std::span<const double> values, double q);
/// Mean of what is left after dropping floor(n * cut) values at each end, 0 <= cut < 0.5.
double trimmed_mean(std::span<const double> values, double cut);
/// Median distance from the median, times 1.4826 (the standard deviation of normal data).
double mad(std::span<const double> values);
/// Median of all pairwise means, each value paired with itself too (Hodges-Lehmann).
double hodges_lehmann(std::span<const double> values);

/// Times and other sizes that must be positive: refuses an empty list, zero, negative, NaN and
/// infinite entries, naming the first bad one. `what` is the noun of the message ("shape times").
base::Status usable(std::span<const double> values, const char* what);
/// exp(mean(log)); refuses what `usable` refuses.
base::Expected<double> geometric_mean(std::span<const double> values);
/// sum(w * v) / sum(w); both lists must be usable and of one length.
base::Expected<double> weighted_mean(std::span<const double> values,
                                     std::span<const double> weights);

struct Summary {
  double count = 0, mean = 0, median = 0, trimmed = 0, mad = 0, low = 0, high = 0, p05 = 0, p95 = 0;
};
/// trimmed = 20 % cut at each end.
Summary summarize(std::span<const double> values);

} // namespace ako::stats
