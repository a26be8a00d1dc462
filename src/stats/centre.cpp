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
constexpr double k_evidence = 0.01;           // for dominance and for lopsidedness

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

double spread_of_medians(std::span<const double> log_ratios, std::span<const int> counts) {
  if (counts.size() < 2) return 0;
  std::vector<double> medians;
  std::size_t at = 0;
  for (int count : counts) {
    medians.push_back(median(log_ratios.subspan(at, static_cast<std::size_t>(count))));
    at += static_cast<std::size_t>(count);
  }
  return counts.size() < 5 ? std::sqrt(variance(medians)) : mad(medians);
}

bool coarse(std::span<const double> sorted) {
  std::size_t distinct = 1;
  for (std::size_t i = 1; i < sorted.size(); ++i) distinct += sorted[i] != sorted[i - 1];
  return 2 * distinct < sorted.size();
}

/// Whether the window around `centre` may be trusted to hold the truth.
bool window_is_safe(std::span<const double> sorted, double centre, double reach) {
  const auto begin = sorted.begin(), end = sorted.end();
  const long below = std::lower_bound(begin, end, centre - reach) - begin;
  const long above = end - std::upper_bound(begin, end, centre + reach);
  const long inside = static_cast<long>(sorted.size()) - below - above;
  const long beside = std::max(below, above);
  return inside > beside && sign_test(beside, inside + beside) < k_evidence &&
         (below == above || sign_test(below, below + above) >= k_evidence);
}

/// The common centre under weights (1 - (r/reach)^2)^2, from the start outwards.
double settle(std::span<const double> log_ratios, double start, double reach) {
  double centre = start;
  for (int i = 0; i < 50; ++i) {
    double sum = 0, weights = 0;
    for (double d : log_ratios) {
      const double u = (d - centre) / reach, v = 1 - u * u;
      if (v <= 0) continue;
      sum += v * v * d;
      weights += v * v;
    }
    if (weights <= 0) return start;
    const double step = sum / weights - centre;
    centre += step;
    if (std::fabs(step) < 1e-7 * reach) break;
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
  std::vector<double> sorted(log_ratios.begin(), log_ratios.end());
  std::sort(sorted.begin(), sorted.end());
  if (coarse(sorted)) return plain(log_ratios, counts);
  const double reach = 3.5 * core_scale(sorted) + 3 * spread_of_medians(log_ratios, counts);
  const double start = 0.5 * (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]);
  const double centre = reach > 0 ? settle(log_ratios, start, reach) : start;
  if (!(reach > 0) || !window_is_safe(sorted, centre, reach)) return plain(log_ratios, counts);
  return bounded(log_ratios, counts, centre, reach);
}

} // namespace ako::stats
