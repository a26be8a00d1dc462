// Decision rules of other tools, written from what their documentation says, to be run on the same
// data. They are rules, not those tools' code.
#pragma once

#include "generate.hpp"

namespace ako::bench {

enum class Call { nothing, faster, slower };

struct RatioInterval {
  double low = 0, high = 0; ///< of the gain 1 - new/old
};

/// nanobench's compare: both alternatives take turns in every round, order ABBA BAAB; the log
/// ratios' median with the distribution-free interval of order statistics that the sign test gives
/// at 95 %.
RatioInterval interleaved_sign_interval(const Moments& moments, double gain);
/// The interval lies beyond `minimum` on one side.
Call call_of(const RatioInterval& interval, double minimum);

/// google benchmark's compare: all repetitions of one, then all of the other; a repetition is the
/// mean of its calls; two-sided Mann-Whitney U test (normal approximation, corrected for continuity
/// and ties) at 5 %; the direction is that of the medians.
Call block_u_test(const Moments& moments, double gain, int repetitions);

/// Two-sided p-value of the U test, for the golden numbers.
double u_test_p(const std::vector<double>& a, const std::vector<double>& b);

} // namespace ako::bench
