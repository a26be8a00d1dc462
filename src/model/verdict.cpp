#include "model/verdict.hpp"

#include <cmath>
#include <limits>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;

namespace {

Json interval_json(const Interval& interval) {
  return Json{{"low", base::number_or_null(interval.low)},
              {"high", base::number_or_null(interval.high)}};
}

/// null was a number that is not finite: it comes back as NaN, never as 0.
Expected<double> number_or_nan(const Json& json, std::string_view key) {
  const auto found = json.find(key);
  if (json.is_object() && found != json.end() && found->is_null())
    return std::numeric_limits<double>::quiet_NaN();
  return base::get<double>(json, key);
}

Expected<Interval> interval_from(const Json& json, std::string_view key) {
  AKO_TRY(const Json inner, base::get<Json>(json, key));
  Interval interval;
  AKO_TRY(interval.low, number_or_nan(inner, "low"));
  AKO_TRY(interval.high, number_or_nan(inner, "high"));
  // An end that is null was open.
  if (std::isnan(interval.low)) interval.low = -std::numeric_limits<double>::infinity();
  if (std::isnan(interval.high)) interval.high = std::numeric_limits<double>::infinity();
  return interval;
}

Expected<ShapeVerdict> shape_from(const Json& json) {
  ShapeVerdict shape;
  AKO_TRY(shape.tag, base::get<std::string>(json, "tag"));
  AKO_TRY(shape.weight, number_or_nan(json, "weight"));
  AKO_TRY(shape.old_ns, number_or_nan(json, "old_ns"));
  AKO_TRY(shape.new_ns, number_or_nan(json, "new_ns"));
  AKO_TRY(shape.gain, number_or_nan(json, "gain"));
  AKO_TRY(shape.interval, interval_from(json, "interval"));
  AKO_TRY(shape.floor_ns, number_or_nan(json, "floor_ns"));
  AKO_TRY(shape.within_regression, base::get<bool>(json, "within_regression"));
  return shape;
}

Expected<int> small_int(const Json& json, std::string_view key) {
  AKO_TRY(const std::int64_t value, base::get<std::int64_t>(json, key));
  if (value < 0 || value > std::numeric_limits<int>::max())
    return fail(ErrorKind::invalid, "count out of range",
                {.where = std::string(key),
                 .found = std::to_string(value),
                 .allowed = "0 to 2147483647",
                 .next = {}});
  return static_cast<int>(value);
}

} // namespace

Json to_json(const Verdict& verdict) {
  Json shapes = Json::array();
  for (const ShapeVerdict& each : verdict.shapes)
    shapes.push_back({{"tag", each.tag},
                      {"weight", base::number_or_null(each.weight)},
                      {"old_ns", base::number_or_null(each.old_ns)},
                      {"new_ns", base::number_or_null(each.new_ns)},
                      {"gain", base::number_or_null(each.gain)},
                      {"interval", interval_json(each.interval)},
                      {"floor_ns", base::number_or_null(each.floor_ns)},
                      {"within_regression", each.within_regression}});
  return Json{{"outcome", to_json(verdict.outcome)},
              {"gain", base::number_or_null(verdict.gain)},
              {"interval", interval_json(verdict.interval)},
              {"alpha_spent", base::number_or_null(verdict.alpha_spent)},
              {"placements", verdict.placements},
              {"pairs", verdict.pairs},
              {"shapes", std::move(shapes)},
              {"confirmed", verdict.confirmed},
              {"against", verdict.against},
              {"clock", verdict.clock},
              {"cache", verdict.cache},
              {"statistic", verdict.statistic},
              {"more_needed", verdict.more_needed}};
}

Expected<Verdict> verdict_from_json(const Json& json) {
  Verdict verdict;
  AKO_TRY(const Json outcome, base::get<Json>(json, "outcome"));
  AKO_TRY(verdict.outcome, outcome_from_json(outcome));
  AKO_TRY(verdict.gain, number_or_nan(json, "gain"));
  AKO_TRY(verdict.interval, interval_from(json, "interval"));
  AKO_TRY(verdict.alpha_spent, number_or_nan(json, "alpha_spent"));
  AKO_TRY(verdict.placements, small_int(json, "placements"));
  AKO_TRY(verdict.pairs, small_int(json, "pairs"));
  AKO_TRY(const Json shapes, base::get<Json>(json, "shapes"));
  if (!shapes.is_array())
    return fail(ErrorKind::invalid, "shapes must be a list",
                {.where = "shapes", .found = shapes.type_name(), .allowed = "array", .next = {}});
  for (const Json& each : shapes) {
    AKO_TRY(ShapeVerdict shape, shape_from(each));
    verdict.shapes.push_back(std::move(shape));
  }
  AKO_TRY(verdict.confirmed, base::get<bool>(json, "confirmed"));
  AKO_TRY(verdict.against, base::get<std::string>(json, "against"));
  AKO_TRY(verdict.clock, base::get<std::string>(json, "clock"));
  AKO_TRY(verdict.cache, base::get<std::string>(json, "cache"));
  AKO_TRY(verdict.statistic, base::get<std::string>(json, "statistic"));
  AKO_TRY(verdict.more_needed, base::get<std::string>(json, "more_needed"));
  return verdict;
}

} // namespace ako::model
