#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace ako::stats {

namespace {

constexpr double k_normal_mad = 1.482602218505602;

std::vector<double> ordered(std::span<const double> values) {
  AKO_CHECK(!values.empty(), "a summary of no values");
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

double median_of_ordered(std::span<const double> sorted) {
  const std::size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

double quantile_of_ordered(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double trimmed_of_ordered(std::span<const double> sorted, double cut) {
  const auto drop = static_cast<std::size_t>(cut * static_cast<double>(sorted.size()));
  return mean(sorted.subspan(drop, sorted.size() - 2 * drop));
}

} // namespace

double mean(std::span<const double> values) {
  AKO_CHECK(!values.empty(), "a mean of no values");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  const double centre = mean(values);
  if (values.size() < 2) return 0;
  double sum = 0;
  for (double v : values) sum += (v - centre) * (v - centre);
  return sum / static_cast<double>(values.size() - 1);
}

double median(std::span<const double> values) { return median_of_ordered(ordered(values)); }

double quantile(std::span<const double> values, double q) {
  AKO_CHECK(q >= 0 && q <= 1, "a quantile outside [0, 1]");
  return quantile_of_ordered(ordered(values), q);
}

double trimmed_mean(std::span<const double> values, double cut) {
  AKO_CHECK(cut >= 0 && cut < 0.5, "a trimmed mean keeps something: 0 <= cut < 0.5");
  return trimmed_of_ordered(ordered(values), cut);
}

double mad(std::span<const double> values) {
  const double centre = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (double v : values) distances.push_back(std::fabs(v - centre));
  return k_normal_mad * median(distances);
}

double hodges_lehmann(std::span<const double> values) {
  AKO_CHECK(!values.empty(), "a location of no values");
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i; j < values.size(); ++j) means.push_back(0.5 * (values[i] + values[j]));
  return median(means);
}

base::Status usable(std::span<const double> values, const char* what) {
  if (values.empty())
    return base::fail(base::ErrorKind::invalid, fmt::format("{}: there are none", what),
                      {.where = "",
                       .found = "an empty list",
                       .allowed = "at least one positive finite number",
                       .next = ""});
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]) || values[i] <= 0)
      return base::fail(base::ErrorKind::invalid, fmt::format("{}: not a positive number", what),
                        {.where = fmt::format("entry {} of {}", i + 1, values.size()),
                         .found = fmt::format("{}", values[i]),
                         .allowed = "positive finite numbers",
                         .next = "measure that entry again; no aggregate is made of it"});
  return {};
}

base::Expected<double> geometric_mean(std::span<const double> values) {
  AKO_TRY_STATUS(usable(values, "geometric mean"));
  double sum = 0;
  for (double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

base::Expected<double> weighted_mean(std::span<const double> values,
                                     std::span<const double> weights) {
  AKO_TRY_STATUS(usable(values, "weighted mean, values"));
  AKO_TRY_STATUS(usable(weights, "weighted mean, weights"));
  if (values.size() != weights.size())
    return base::fail(base::ErrorKind::invalid, "weighted mean: lists of different lengths",
                      {.where = "",
                       .found = fmt::format("{} values, {} weights", values.size(), weights.size()),
                       .allowed = "one weight for each value",
                       .next = ""});
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += weights[i] * values[i];
    total += weights[i];
  }
  return sum / total;
}

Summary summarize(std::span<const double> values) {
  const std::vector<double> sorted = ordered(values);
  Summary s;
  s.count = static_cast<double>(sorted.size());
  s.mean = mean(sorted);
  s.median = median_of_ordered(sorted);
  s.trimmed = trimmed_of_ordered(sorted, 0.2);
  s.mad = mad(sorted);
  s.low = sorted.front();
  s.high = sorted.back();
  s.p05 = quantile_of_ordered(sorted, 0.05);
  s.p95 = quantile_of_ordered(sorted, 0.95);
  return s;
}

} // namespace ako::stats
