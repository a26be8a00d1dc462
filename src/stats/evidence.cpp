#include "stats/evidence.hpp"

#include "stats/centre.hpp"
#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::stats {

namespace {

using base::ErrorKind;

bool positive(double v) { return std::isfinite(v) && v > 0; }

bool usable_placement(const Placement& placement) {
  for (const std::vector<Pair>& pairs : placement.pairs) {
    const auto quiet = std::count_if(pairs.begin(), pairs.end(), [](const Pair& pair) {
      return pair.condition == Condition::quiet;
    });
    if (quiet == 0 || 2 * quiet < static_cast<long>(pairs.size())) return false;
  }
  return true;
}

base::Status check_series(const Series& series) {
  if (series.shapes.empty())
    return base::fail(ErrorKind::invalid, "a series without shapes has no gain",
                      {.where = "", .found = "no shapes", .allowed = "one or more", .next = ""});
  for (const Shape& shape : series.shapes)
    if (!positive(shape.weight))
      return base::fail(ErrorKind::invalid, "a shape's weight is not a positive number",
                        {.where = shape.tag,
                         .found = fmt::format("{}", shape.weight),
                         .allowed = "calls in production, above 0",
                         .next = "correct the weight in the contract"});
  for (std::size_t p = 0; p < series.placements.size(); ++p)
    if (series.placements[p].pairs.size() != series.shapes.size())
      return base::fail(ErrorKind::invalid, "a placement does not hold every shape",
                        {.where = fmt::format("placement {}", p + 1),
                         .found = fmt::format("{} shapes", series.placements[p].pairs.size()),
                         .allowed = fmt::format("{}", series.shapes.size()),
                         .next = "measure every shape on every placement"});
  return {};
}

base::Status check_pair(const Pair& pair, const Shape& shape, std::size_t placement) {
  if (positive(pair.old_ns) && positive(pair.new_ns) && positive(pair.old_clock) &&
      positive(pair.new_clock))
    return {};
  return base::fail(ErrorKind::invalid, "a time or clock is not a positive number",
                    {.where = fmt::format("shape {}, placement {}", shape.tag, placement + 1),
                     .found = fmt::format("old {} ns at clock {}, new {} ns at clock {}",
                                          pair.old_ns, pair.old_clock, pair.new_ns, pair.new_clock),
                     .allowed = "positive finite numbers",
                     .next = "mark the pair disturbed or measure it again"});
}

void complete(Line& line) {
  line.centre = mean(line.values);
  line.spread = std::sqrt(variance(line.values));
}

base::Expected<Line> gather_shape(const Series& series, std::size_t s, ClockUse clock,
                                  const std::vector<std::size_t>& usable, int& pairs_used) {
  std::vector<double> ratios, times;
  std::vector<int> counts;
  for (std::size_t p : usable) {
    int count = 0;
    for (const Pair& pair : series.placements[p].pairs[s]) {
      if (pair.condition == Condition::disturbed) continue;
      AKO_TRY_STATUS(check_pair(pair, series.shapes[s], p));
      double before = pair.old_ns, after = pair.new_ns;
      if (clock == ClockUse::normalised) {
        before *= pair.old_clock;
        after *= pair.new_clock;
      }
      ratios.push_back(std::log(after / before));
      times.push_back(before * after);
      ++count;
    }
    counts.push_back(count);
    pairs_used += count;
  }
  Centre centre = centre_of(ratios, counts);
  Line line;
  line.values = std::move(centre.values);
  line.pair_error = centre.pair_error;
  const auto middle = times.begin() + static_cast<long>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  line.time_ns = std::sqrt(*middle);
  complete(line);
  return line;
}

/// log(sum(w new) / sum(w old)) with new = time * e^(v/2) and old = time * e^(-v/2): exchanging the
/// sides changes the sign and nothing else.
Line weigh(const std::vector<Line>& lines, const std::vector<Shape>& shapes) {
  if (lines.size() == 1) return lines.front();
  Line total;
  double cost = 0, squares = 0;
  for (std::size_t s = 0; s < lines.size(); ++s) {
    const double part = shapes[s].weight * lines[s].time_ns;
    cost += part;
    squares += part * part * lines[s].pair_error * lines[s].pair_error;
  }
  for (std::size_t p = 0; p < lines.front().values.size(); ++p) {
    double before = 0, after = 0;
    for (std::size_t s = 0; s < lines.size(); ++s) {
      const double part = shapes[s].weight * lines[s].time_ns, half = 0.5 * lines[s].values[p];
      before += part * std::exp(-half);
      after += part * std::exp(half);
    }
    total.values.push_back(std::log(after / before));
  }
  total.time_ns = cost;
  total.pair_error = std::sqrt(squares) / cost;
  complete(total);
  return total;
}

} // namespace

base::Expected<SeriesEvidence> gather(const Series& series, ClockUse clock) {
  AKO_TRY_STATUS(check_series(series));
  SeriesEvidence evidence;
  std::vector<std::size_t> usable;
  for (std::size_t p = 0; p < series.placements.size(); ++p)
    if (usable_placement(series.placements[p])) usable.push_back(p);
  evidence.usable = static_cast<int>(usable.size());
  evidence.unusable = static_cast<int>(series.placements.size() - usable.size());
  if (usable.empty()) return evidence;
  for (std::size_t s = 0; s < series.shapes.size(); ++s) {
    AKO_TRY(Line line, gather_shape(series, s, clock, usable, evidence.pairs));
    evidence.shapes.push_back(std::move(line));
  }
  evidence.total = weigh(evidence.shapes, series.shapes);
  return evidence;
}

} // namespace ako::stats
