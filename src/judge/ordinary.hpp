// The common case of a close comparison, four elements at a time: values that are finite, within
// the tolerance, and set no new maximum. Everything else is told apart by the slow path.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ako::judge {

/// What an ordinary element stays within. `base`, `rtol`: allowed = base + rtol * |expected|.
/// The maxima are those seen so far, as CompareResult has them.
struct OrdinaryLimits {
  double largest = 0, subnormal_edge = 0; ///< of the candidate's type
  std::int64_t least_exponent = 0;        ///< exponent bits of the smallest normal number
  double quantum_scale = 1;               ///< quantum = 2^exponent * quantum_scale
  double base = 0, rtol = 0, cap = 0;     ///< cap: largest error allowed, infinity for none
  double max_abs = 0, max_rel = 0, max_quanta = 0, max_of_allowed = 0;
};

/// Sums over ordinary elements; `bias` in quanta away from zero, over `bias_count` that round.
struct OrdinarySums {
  double error = 0, expected = 0, cross = 0, bias = 0;
  std::int64_t bias_count = 0;
};

inline constexpr std::size_t k_ordinary_step = 4;

/// True: all `count` elements (a multiple of k_ordinary_step) are ordinary and were added to
/// `sums`. False: at least one is not, and nothing was added.
bool add_ordinary(const double* got, const double* expected, std::size_t count,
                  const OrdinaryLimits& limits, OrdinarySums& sums);

} // namespace ako::judge
