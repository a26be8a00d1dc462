#include "stats/wording.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::stats {

namespace {

constexpr int k_most_placements = 20000; // beyond this "more placements" is no advice

constexpr double k_most_share = 1000; ///< what is no more than a thousand times bounds nothing

std::string percent(double part) { return fmt::format("{:+.2f} %", 100 * part); }
std::string plain_percent(double part) { return fmt::format("{:.3g} %", 100 * part); }

std::string interval(const Gain& gain, double level) {
  return fmt::format("{} ({:.4g} % interval {} to {})", percent(gain.value), 100 * level,
                     gain.low > -k_most_share ? percent(gain.low) : "unbounded",
                     percent(gain.high));
}

/// The fewest placements that show `line` to lie further than `distance` away, or 0.
int placements_for(const Plan& plan, const Boundary& boundary, Purpose purpose, const Line& line,
                   double distance) {
  return boundary.placements_for(purpose, distance - plan.tick_ns / line.time_ns, line.spread,
                                 line.pair_error, k_most_placements);
}

const ShapeResult* first_with(const Decision& decision, Regression regression) {
  for (const ShapeResult& shape : decision.shapes)
    if (shape.regression == regression) return &shape;
  return nullptr;
}

/// Placements until the total is on one side, and until every shape is, whichever is later; 0 where
/// no number helps.
int all_needed(const Decision& decision, const SeriesEvidence& evidence, const Plan& plan,
               const Boundary& boundary) {
  const Line& total = evidence.total;
  const double win = std::log1p(-plan.min_gain), loss = std::log1p(plan.min_gain);
  if (total.centre >= win) {
    // Not a win as it stands: the nearer question is whether it is a draw or a loss.
    const double distance = std::min(std::fabs(total.centre - win), std::fabs(loss - total.centre));
    // Inside the limits it is a draw that is to be shown.
    const bool draw = total.centre < loss;
    return placements_for(plan, boundary, draw ? Purpose::equivalence : Purpose::interval, total,
                          distance);
  }
  int needed = placements_for(plan, boundary, Purpose::win, total, win - total.centre);
  if (needed == 0) return 0;
  for (std::size_t s = 0; s < decision.shapes.size(); ++s) {
    if (decision.shapes[s].regression != Regression::open) continue;
    const Line& line = evidence.shapes[s];
    const double distance = std::log1p(plan.max_regression) - line.centre;
    const int own = placements_for(plan, boundary, distance > 0 ? Purpose::win : Purpose::interval,
                                   line, std::fabs(distance));
    if (own == 0) return 0;
    needed = std::max(needed, own);
  }
  return needed;
}

} // namespace

More more_needed(const Decision& decision, const SeriesEvidence& evidence, const Plan& plan,
                 const Boundary& boundary) {
  More more;
  if (evidence.usable < 2) {
    more.text = "at least two usable placements are needed before anything can be said";
    return more;
  }
  more.placements = all_needed(decision, evidence, plan, boundary);
  more.reachable = more.placements > 0 && more.placements <= plan.most_placements;
  const std::string spread = plain_percent(decision.spread);
  if (more.placements == 0)
    more.text = fmt::format("cannot be resolved by more placements: the gain of {} sits too close "
                            "to a limit of {} for a spread of {} from placement to placement",
                            percent(decision.gain.value), plain_percent(plan.min_gain), spread);
  else if (!more.reachable)
    more.text = fmt::format("about {} placements at the spread seen ({} from placement to "
                            "placement); {} are allowed",
                            more.placements, spread, plan.most_placements);
  else
    more.text =
        fmt::format("a run of its own of {} placements has an even chance to decide, at the "
                    "spread seen ({} from placement to placement)",
                    plan.most_placements, spread);
  if (const ShapeResult* open = first_with(decision, Regression::open);
      open && decision.gain.low > plan.min_gain)
    more.text = fmt::format("shape {} is not shown to lose less than {} (gain {}): ", open->tag,
                            plain_percent(plan.max_regression), interval(open->gain, plan.level)) +
                more.text;
  return more;
}

std::string reason_for(const Decision& decision, const SeriesEvidence& evidence, const Plan& plan,
                       double surely_gained) {
  const std::string gain = interval(decision.gain, plan.level);
  switch (decision.state) {
  case State::go_on:
    return fmt::format("not decided after {} of {} placements", decision.placements,
                       plan.most_placements);
  case State::improved:
    return fmt::format(
        "gain {}, shown at {:.3g} % to exceed {} by {} placements, above the minimum "
        "of {}",
        gain, 100 * plan.alpha / plan.candidates, percent(surely_gained), decision.placements,
        plain_percent(plan.min_gain));
  case State::equivalent: {
    const ShapeResult* open = first_with(decision, Regression::open);
    return fmt::format("gain {}, shown at {:.3g} % to lie inside +-{}{}", gain,
                       100 * plan.equivalence_alpha, plain_percent(plan.min_gain),
                       open ? fmt::format("; shape {} is not resolved", open->tag) : "");
  }
  case State::regressed:
    if (const ShapeResult* shape = first_with(decision, Regression::beyond))
      return fmt::format("shape {}: gain {} is beyond the allowed regression of {}", shape->tag,
                         interval(shape->gain, plan.level), plain_percent(plan.max_regression));
    return fmt::format("gain {} lies below -{}", gain, plain_percent(plan.min_gain));
  case State::undecided: {
    const ShapeResult* open = first_with(decision, Regression::open);
    return fmt::format("gain {} against a minimum of {} after {} placements{}", gain,
                       plain_percent(plan.min_gain), decision.placements,
                       open ? fmt::format("; shape {} is not shown to stay within {}", open->tag,
                                          plain_percent(plan.max_regression))
                            : "");
  }
  case State::invalid:
    return fmt::format("{} of {} placements had too few quiet pairs", evidence.unusable,
                       evidence.usable + evidence.unusable);
  }
  return {};
}

} // namespace ako::stats
