#include "stats/instances.hpp"

#include "stats/distributions.hpp"
#include "stats/summary.hpp"

#include <cmath>
#include <fmt/format.h>

namespace ako::stats {

namespace {

struct SideValues {
  std::vector<double> centres; ///< log of each instance's median
  std::vector<double> within;  ///< variance of the logs inside each instance of two or more
};

base::Expected<SideValues> reduce(const std::vector<Instance>& side, const char* name) {
  if (side.size() < 2)
    return base::fail(base::ErrorKind::invalid, "an interval over instances needs two of each side",
                      {.where = name,
                       .found = fmt::format("{} instances", side.size()),
                       .allowed = "2 or more",
                       .next = "start more fresh processes of that side"});
  SideValues values;
  for (const Instance& instance : side) {
    AKO_TRY_STATUS(usable(instance.times_ns, name));
    std::vector<double> logs;
    logs.reserve(instance.times_ns.size());
    for (double t : instance.times_ns) logs.push_back(std::log(t));
    values.centres.push_back(median(logs));
    if (logs.size() > 1) values.within.push_back(variance(logs));
  }
  return values;
}

} // namespace

base::Expected<InstanceResult> compare_instances(const std::vector<Instance>& old_side,
                                                 const std::vector<Instance>& new_side,
                                                 double level) {
  if (!(level > 0 && level < 1))
    return base::fail(base::ErrorKind::invalid, "the level of an interval is off",
                      {.where = "level",
                       .found = fmt::format("{}", level),
                       .allowed = "between 0 and 1",
                       .next = ""});
  AKO_TRY(SideValues before, reduce(old_side, "old side"));
  AKO_TRY(SideValues after, reduce(new_side, "new side"));
  const auto n_old = static_cast<double>(before.centres.size());
  const auto n_new = static_cast<double>(after.centres.size());
  const double v_old = variance(before.centres), v_new = variance(after.centres);
  const double e_old = v_old / n_old, e_new = v_new / n_new, error = e_old + e_new;

  InstanceResult result;
  result.between_old = std::sqrt(v_old);
  result.between_new = std::sqrt(v_new);
  std::vector<double> within = before.within;
  within.insert(within.end(), after.within.begin(), after.within.end());
  if (!within.empty()) result.within = std::sqrt(mean(within));
  result.degrees = error > 0
                       ? error * error / (e_old * e_old / (n_old - 1) + e_new * e_new / (n_new - 1))
                       : n_old + n_new - 2;
  const double shift = mean(after.centres) - mean(before.centres);
  const double half = student_upper_quantile(0.5 * (1 - level), result.degrees) * std::sqrt(error);
  result.gain = {-std::expm1(shift), -std::expm1(shift + half), -std::expm1(shift - half)};
  return result;
}

} // namespace ako::stats
