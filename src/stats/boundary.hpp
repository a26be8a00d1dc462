// When the sequential test looks, what each look may spend, and how wide its intervals are.
#pragma once

#include "stats/paired_test.hpp"

#include <iterator>
#include <vector>

namespace ako::stats {

/// The looks of a run of at most `most` placements: every one up to 5, then about a quarter more
/// each time, the last at `most`.
std::vector<int> looks_of(int first_look, int most);

/// Shares of the error that the looks may spend, adding up to 1: half for the last, the rest
/// growing with the square of the placements. By Bonferroni's inequality over the looks the whole
/// run keeps its level whatever the looks have in common; early looks get little because few values
/// say little about the shape of their distribution.
std::vector<double> shares_of(const std::vector<int>& looks);

/// Which error an interval end answers for.
enum class Purpose { win, interval, equivalence };
constexpr Purpose k_purposes[] = {Purpose::win, Purpose::interval, Purpose::equivalence};

/// Critical values of a plan, worked out once.
class Boundary {
public:
  explicit Boundary(const Plan& plan);

  bool looks_after(int placements) const;
  /// Alpha that has been spent when `placements` have been looked at.
  double alpha_spent(int placements) const;
  /// Half-width for `usable` values with standard deviation `spread` of which the pairs' noise
  /// alone explains `pair_error`, at the look after `placements`; infinite below two values.
  double half_width(Purpose purpose, int placements, int usable, double spread,
                    double pair_error) const;

  /// The fewest placements of a run whose LAST look is narrower than `distance`, at this spread and
  /// pair error; 0 where that takes more than `limit`.
  int placements_for(Purpose purpose, double distance, double spread, double pair_error,
                     int limit) const;

private:
  struct Critical {
    double student[std::size(k_purposes)] = {}; ///< by purpose, for as many values as placements
    double normal[std::size(k_purposes)] = {};  ///< by purpose; 0 = not used at this look
  };
  std::size_t index_of(int placements) const;
  double tail(Purpose purpose) const;

  Plan m_plan;
  std::vector<int> m_looks;
  std::vector<double> m_shares;
  std::vector<Critical> m_critical;
  double m_student_share = 1; ///< of the error, for intervals from the spread that was seen
};

} // namespace ako::stats
