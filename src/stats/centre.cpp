#include "stats/centre.hpp"

#include "base/error.hpp"
#include "stats/distributions.hpp"
#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>

namespace ako::stats {

namespace {

constexpr double k_core_share = 0.3; // of the pairs: two clock states leave half in the middle
constexpr double k_core_normal = 0.385320466; // half-width of the middle 30 % of a normal
// Windows that are tried; the one with the least error wins. No single one suits both a smooth
// noise and states that stand just outside it.
constexpr double k_reaches[] = {1.5, 2.2, 3.5, 6};
constexpr double k_inner = 0.7;      // part of the window whose pairs count as inside
constexpr double k_dominance = 0.05; // chance of so clear a majority without one, at k_many pairs
constexpr double k_many = 200;
constexpr double k_lopsided = 0.01; // chance of outliers falling so unevenly

/// Half the length of the shortest stretch that holds the core share, as a standard deviation.
double core_scale(std::span<const double> sorted) {
  const auto n = static_cast<double>(sorted.size());
  const auto span = static_cast<std::size_t>(std::ceil(k_core_share * n));
  double shortest = sorted.back() - sorted.front();
  for (std::size_t i = 0; i + span < sorted.size(); ++i)
    shortest = std::min(shortest, sorted[i + span] - sorted[i]);
  // The shortest of few stretches is short by luck.
  return 0.5 * shortest / k_core_normal * (1 + 6 / n);
}

/// How far placements lie apart beyond what their pairs' noise does to a median of so few.
double spread_of_placements(std::span<const double> log_ratios, std::span<const int> counts) {
  if (counts.size() < 2) return 0;
  std::vector<double> medians, errors, own;
  std::size_t at = 0;
  for (int count : counts) {
    const auto begin = log_ratios.begin() + static_cast<long>(at);
    own.assign(begin, begin + count);
    std::sort(own.begin(), own.end());
    at += own.size();
    const std::size_t n = own.size(), quarter = n / 4;
    medians.push_back(0.5 * (own[(n - 1) / 2] + own[n / 2]));
    // Standard error of a normal sample's median, from its quartiles.
    errors.push_back(0.929 * (own[n - 1 - quarter] - own[quarter]) / std::sqrt(count));
  }
  if (counts.size() < 5) return std::sqrt(variance(medians)); // too few to tell the two apart
  const double seen = mad(medians), explained = median(errors);
  return std::sqrt(std::max(0.0, seen * seen - explained * explained));
}

/// Whether the window around `centre` may be trusted to hold the truth. Pairs in its outer part
/// count as beside it: they carry next to no weight.
bool window_is_safe(std::span<const double> sorted, double centre, double reach) {
  const auto begin = sorted.begin(), end = sorted.end();
  const auto n = static_cast<double>(sorted.size());
  const long below = std::lower_bound(begin, end, centre - k_inner * reach) - begin;
  const long above = end - std::upper_bound(begin, end, centre + k_inner * reach);
  const long inside = static_cast<long>(sorted.size()) - below - above;
  const long beside = std::max(below, above);
  // Few pairs must agree more clearly, because a state beside the truth may hold most of them by
  // luck.
  const double evidence = k_dominance * std::min(1.0, n * n / (k_many * k_many));
  return inside > beside && sign_test(beside, inside + beside) < evidence &&
         (below == above || sign_test(below, below + above) >= k_lopsided);
}

/// The common centre under weights (1 - (r/reach)^2)^2, from the start outwards.
double settle(std::span<const double> log_ratios, double start, double reach) {
  double centre = start;
  const double inverse = 1 / reach;
  for (int i = 0; i < 50; ++i) {
    double sum = 0, weights = 0;
    for (double d : log_ratios) {
      const double u = (d - centre) * inverse, v = std::max(0.0, 1 - u * u), weight = v * v;
      sum += weight * d;
      weights += weight;
    }
    if (weights <= 0) return start;
    const double step = sum / weights - centre;
    centre += step;
    if (std::fabs(step) < 1e-5 * reach) break;
  }
  return centre;
}

Centre plain(std::span<const double> log_ratios, std::span<const int> counts) {
  Centre result;
  double squares = 0, freedom = 0, pairs = 0;
  std::size_t at = 0;
  for (int count : counts) {
    const auto own = log_ratios.subspan(at, static_cast<std::size_t>(count));
    at += own.size();
    result.values.push_back(mean(own));
    squares += variance(own) * (count - 1);
    freedom += count - 1;
    pairs += count;
  }
  if (freedom > 0)
    result.pair_error = std::sqrt(squares / freedom / (pairs / static_cast<double>(counts.size())));
  return result;
}

/// Each pair enters through its bounded distance from the centre; the slope puts the sums back on
/// the scale of the data.
Centre bounded(std::span<const double> log_ratios, std::span<const int> counts, double centre,
               double reach) {
  Centre result{{}, 0, Weighing::bounded};
  double slope = 0, squares = 0;
  std::size_t at = 0;
  for (int count : counts) {
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      const double r = log_ratios[at++] - centre, u = r / reach, v = 1 - u * u;
      if (v <= 0) continue;
      const double psi = r * v * v;
      sum += psi;
      squares += psi * psi;
      slope += v * (1 - 5 * u * u);
    }
    result.values.push_back(sum / count);
  }
  const auto pairs = static_cast<double>(log_ratios.size());
  slope /= pairs;
  if (slope < 0.1) return plain(log_ratios, counts); // no clear hump to stand on
  for (double& value : result.values) value = centre + value / slope;
  const double per_placement = pairs / static_cast<double>(counts.size());
  result.pair_error = std::sqrt(squares / pairs / per_placement) / slope;
  return result;
}

} // namespace

Centre centre_of(std::span<const double> log_ratios, std::span<const int> counts) {
  AKO_CHECK(!log_ratios.empty() && !counts.empty(), "a centre of no pairs");
  Centre best = plain(log_ratios, counts);
  std::vector<double> sorted(log_ratios.begin(), log_ratios.end());
  std::sort(sorted.begin(), sorted.end());
  const double core = core_scale(sorted), placements = spread_of_placements(log_ratios, counts);
  const double start = 0.5 * (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]);
  for (double times : k_reaches) {
    const double reach = times * core + 3 * placements;
    if (!(reach > 0)) continue; // ticks of a coarse clock stand on each other
    const double centre = settle(log_ratios, start, reach);
    if (!window_is_safe(sorted, centre, reach)) continue;
    Centre other = bounded(log_ratios, counts, centre, reach);
    if (other.pair_error < best.pair_error) best = std::move(other);
  }
  return best;
}

} // namespace ako::stats
