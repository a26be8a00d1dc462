#include "report/html/chart.hpp"

#include "report/text/words.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::report {

namespace {

constexpr double k_width = 760, k_height = 300, k_left = 62, k_right = 14, k_top = 14,
                 k_bottom = 40;
constexpr double k_cap = 8; ///< half the width of an interval's end

struct Point {
  std::int64_t number = 0;
  double gain = 0, low = 0, high = 0;
  bool kept = false;
  std::string title;
};

struct Scale {
  double low = 0, high = 0; ///< gains
  std::int64_t first = 1, last = 1;
  double x(std::int64_t number) const {
    const double span = static_cast<double>(std::max<std::int64_t>(1, last - first + 1));
    return k_left +
           (k_width - k_left - k_right) * (static_cast<double>(number - first) + 0.5) / span;
  }
  double y(double gain) const {
    const double clamped = std::clamp(gain, low, high);
    return k_top + (k_height - k_top - k_bottom) * (high - clamped) / (high - low);
  }
};

bool timed(const model::Verdict& verdict) {
  return !verdict.shapes.empty() && std::isfinite(verdict.gain) &&
         std::isfinite(verdict.interval.low) && std::isfinite(verdict.interval.high);
}

Point point(std::int64_t number, const model::Verdict& verdict, bool kept) {
  return {number,
          verdict.gain,
          verdict.interval.low,
          verdict.interval.high,
          kept,
          fmt::format("iteration {}: {}, {} against {}", number,
                      model::to_string(verdict.outcome.kind), gain(verdict.gain, verdict.interval),
                      verdict.against)};
}

/// A round step that gives about five lines.
double grid_step(double span) {
  const double raw = span / 5, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power) return factor * power;
  return 10 * power;
}

Scale scale_of(const std::vector<Point>& steps, const std::vector<Point>& totals,
               std::int64_t first, std::int64_t last) {
  Scale scale{0, 0, first, last};
  for (const auto* list : {&steps, &totals})
    for (const Point& each : *list) {
      scale.low = std::min({scale.low, each.low, each.gain});
      scale.high = std::max({scale.high, each.high, each.gain});
    }
  // A single wild regression must not flatten everything else; the point's title has the number.
  scale.low = std::max(scale.low, -1.0);
  const double pad = std::max(0.005, 0.06 * (scale.high - scale.low));
  scale.low -= pad;
  scale.high += pad;
  return scale;
}

std::string axes(const Scale& scale) {
  std::string out;
  const double step = grid_step(scale.high - scale.low);
  for (double at = std::ceil(scale.low / step) * step; at <= scale.high; at += step) {
    const double value = std::fabs(at) < step / 1e6 ? 0 : at;
    out += fmt::format("<line class=\"{}\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
                       value == 0 ? "zero" : "grid", k_left, k_width - k_right, scale.y(value),
                       scale.y(value));
    out += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:+.3g} %</text>",
                       k_left - 8, scale.y(value) + 4, 100 * value);
  }
  const std::int64_t every = std::max<std::int64_t>(1, (scale.last - scale.first + 12) / 12);
  for (std::int64_t number = scale.first; number <= scale.last; number += every)
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                       scale.x(number), k_height - k_bottom + 18, number);
  out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">iteration</text>",
                     (k_left + k_width - k_right) / 2, k_height - 5);
  return out;
}

std::string marks(const std::vector<Point>& points, const Scale& scale, std::string_view css) {
  std::string out;
  for (const Point& each : points) {
    const double x = scale.x(each.number);
    out += fmt::format("<g class=\"{}{}\"><title>{}</title>", css, each.kept ? " kept" : "",
                       html(each.title));
    out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", x,
                       scale.y(each.low), scale.y(each.high));
    // End caps wider than the dot: a narrow interval stays visible.
    for (const double end : {scale.y(each.low), scale.y(each.high)})
      out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>",
                         x - k_cap, x + k_cap, end);
    out +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/></g>", x, scale.y(each.gain));
  }
  return out;
}

/// From each measured total to the next, holding its height until then.
std::string stepped(const std::vector<Point>& totals, const Scale& scale) {
  if (totals.empty()) return {};
  std::string path;
  for (const Point& each : totals)
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", scale.x(each.number), scale.y(each.gain))
                         : fmt::format("H{:.1f}V{:.1f}", scale.x(each.number), scale.y(each.gain));
  path += fmt::format("H{:.1f}", scale.x(scale.last));
  return "<path class=\"total\" d=\"" + path + "\"/>";
}

} // namespace

std::string gain_chart(const Data& data) {
  if (data.iterations.empty()) return {};
  std::vector<Point> steps, totals;
  for (const auto& each : data.iterations) {
    const ledger::Iteration& it = each.payload;
    const bool kept = it.decision != model::Decision::revert;
    if (timed(it.verdict)) steps.push_back(point(it.number, it.verdict, kept));
    if (kept && it.versus_baseline && timed(*it.versus_baseline))
      totals.push_back(point(it.number, *it.versus_baseline, true));
  }
  if (steps.empty() && totals.empty()) return {};
  const Scale scale = scale_of(steps, totals, data.iterations.front().payload.number,
                               data.iterations.back().payload.number);
  return fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" "
                     "aria-label=\"gain over iterations with intervals\">",
                     k_width, k_height) +
         axes(scale) + stepped(totals, scale) + marks(steps, scale, "step") +
         marks(totals, scale, "sum") + "</svg>";
}

} // namespace ako::report
