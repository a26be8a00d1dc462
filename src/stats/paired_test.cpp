#include "stats/paired_test.hpp"

#include "stats/boundary.hpp"
#include "stats/evidence.hpp"
#include "stats/wording.hpp"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace ako::stats {

namespace {

// Seven equal throws of a side's state against the other's: 4^-7 is below the test's alpha.
constexpr std::size_t k_enough_to_mix = 7;

double gain_of(double log_ratio) { return -std::expm1(log_ratio); }

base::Status allow(bool lawful, const char* key, double found, const char* allowed) {
  if (lawful) return {};
  return base::fail(base::ErrorKind::invalid, "the plan of the comparison cannot be carried out",
                    {.where = key,
                     .found = fmt::format("{}", found),
                     .allowed = allowed,
                     .next = "correct it in [accept]"});
}

} // namespace

const char* to_string(State state) {
  switch (state) {
  case State::go_on: return "go_on";
  case State::improved: return "improved";
  case State::equivalent: return "equivalent";
  case State::regressed: return "regressed";
  case State::undecided: return "undecided";
  case State::invalid: return "invalid";
  }
  return "?";
}

const char* to_string(Regression regression) {
  switch (regression) {
  case Regression::within: return "within";
  case Regression::beyond: return "beyond";
  case Regression::open: return "open";
  }
  return "?";
}

base::Status check(const Plan& plan) {
  // Written so that NaN is refused too.
  AKO_TRY_STATUS(
      allow(plan.min_gain >= 0 && plan.min_gain < 1, "min_gain", plan.min_gain, "0 to below 1"));
  AKO_TRY_STATUS(allow(plan.max_regression >= 0 && plan.max_regression < 1e6, "max_regression",
                       plan.max_regression, "0 or more"));
  AKO_TRY_STATUS(
      allow(plan.alpha > 1e-9 && plan.alpha < 0.5, "alpha", plan.alpha, "between 1e-9 and 0.5"));
  AKO_TRY_STATUS(
      allow(plan.spend > 0 && plan.spend <= 1, "spend", plan.spend, "above 0, at most 1"));
  AKO_TRY_STATUS(allow(plan.level >= 0.5 && plan.level < 1, "level", plan.level, "0.5 to below 1"));
  AKO_TRY_STATUS(allow(plan.equivalence_alpha > 1e-9 && plan.equivalence_alpha < 0.5,
                       "equivalence_alpha", plan.equivalence_alpha, "between 1e-9 and 0.5"));
  AKO_TRY_STATUS(allow(plan.most_placements >= 1 && plan.most_placements <= 100000,
                       "most_placements", plan.most_placements, "1 to 100000"));
  AKO_TRY_STATUS(allow(plan.pairs_per_placement >= 1, "pairs_per_placement",
                       plan.pairs_per_placement, "1 or more"));
  AKO_TRY_STATUS(allow(plan.first_look >= 1, "first_look", plan.first_look, "1 or more"));
  AKO_TRY_STATUS(allow(plan.candidates >= 1, "candidates", plan.candidates, "1 or more"));
  AKO_TRY_STATUS(allow(plan.placement_spread >= 0 && plan.placement_spread < 1, "placement_spread",
                       plan.placement_spread, "0 to below 1"));
  AKO_TRY_STATUS(allow(plan.unwatched_step >= 0 && plan.unwatched_step < 1, "unwatched_step",
                       plan.unwatched_step, "0 to below 1"));
  AKO_TRY_STATUS(allow(plan.tick_ns >= 0 && std::isfinite(plan.tick_ns), "tick_ns", plan.tick_ns,
                       "0 or more"));
  return {};
}

struct Tester::Rules {
  explicit Rules(const Plan& p) : plan(p), boundary(p) {}

  /// Half-width of an interval of `line`, in logs.
  double half(Purpose purpose, const Line& line, int placements) const {
    const double noise = boundary.half_width(
        purpose, placements, static_cast<int>(line.values.size()), line.spread, line.pair_error);
    const double held = line.values.size() < k_enough_to_mix ? std::log1p(plan.unwatched_step) : 0;
    return noise + held + plan.tick_ns / line.time_ns;
  }

  Gain gain(const Line& line, int placements) const {
    const double width = half(Purpose::interval, line, placements);
    return {gain_of(line.centre), gain_of(line.centre + width), gain_of(line.centre - width)};
  }

  /// What is shown, at the level of a win, to be exceeded.
  double surely(const Line& line, int placements) const {
    return gain_of(line.centre + half(Purpose::win, line, placements));
  }

  ShapeResult shape(const Shape& shape, const Line& line, int placements) const {
    ShapeResult result;
    result.tag = shape.tag;
    result.weight = shape.weight;
    result.old_ns = line.time_ns * std::exp(-0.5 * line.centre);
    result.new_ns = line.time_ns * std::exp(0.5 * line.centre);
    result.gain = gain(line, placements);
    if (result.gain.high < -plan.max_regression) result.regression = Regression::beyond;
    else if (surely(line, placements) > -plan.max_regression)
      result.regression = Regression::within;
    return result;
  }

  /// Whether the gain is shown to lie inside +- min_gain.
  bool inside(const Line& line, int placements) const {
    const double width = half(Purpose::equivalence, line, placements);
    return gain_of(line.centre + width) > -plan.min_gain &&
           gain_of(line.centre - width) < plan.min_gain;
  }

  State judge(const Decision& decision, const Line& total, int placements) const {
    bool all_within = true;
    for (const ShapeResult& result : decision.shapes) {
      if (result.regression == Regression::beyond) return State::regressed;
      all_within = all_within && result.regression == Regression::within;
    }
    if (surely(total, placements) > plan.min_gain && all_within) return State::improved;
    if (decision.gain.high < -plan.min_gain) return State::regressed;
    if (inside(total, placements)) return State::equivalent;
    return placements >= plan.most_placements ? State::undecided : State::go_on;
  }

  Plan plan;
  Boundary boundary;
};

Tester::Tester(std::unique_ptr<const Rules> rules) : m_rules(std::move(rules)) {}
Tester::Tester(Tester&&) noexcept = default;
Tester& Tester::operator=(Tester&&) noexcept = default;
Tester::~Tester() = default;

base::Expected<Tester> Tester::make(const Plan& plan) {
  AKO_TRY_STATUS(check(plan));
  return Tester(std::make_unique<const Rules>(plan));
}

bool Tester::looks_after(int placements) const { return m_rules->boundary.looks_after(placements); }

base::Expected<Decision> Tester::look(const Series& series) const {
  const Plan& plan = m_rules->plan;
  AKO_TRY(const SeriesEvidence evidence, gather(series, plan.clock));
  const auto placements = static_cast<int>(series.placements.size());
  Decision decision;
  decision.placements = evidence.usable;
  decision.pairs = evidence.pairs;
  decision.alpha_spent = m_rules->boundary.alpha_spent(placements);
  const bool last = placements >= plan.most_placements;

  if (evidence.unusable > 1 && 4 * evidence.unusable > plan.most_placements) {
    decision.state = State::invalid;
  } else if (evidence.usable == 0) {
    decision.state = last ? State::invalid : State::go_on;
  }
  double surely_gained = -std::numeric_limits<double>::infinity();
  if (evidence.usable > 0) {
    decision.gain = m_rules->gain(evidence.total, placements);
    decision.spread = evidence.total.spread;
    for (std::size_t s = 0; s < series.shapes.size(); ++s)
      decision.shapes.push_back(m_rules->shape(series.shapes[s], evidence.shapes[s], placements));
    surely_gained = m_rules->surely(evidence.total, placements);
    if (decision.state != State::invalid && m_rules->boundary.looks_after(placements))
      decision.state = m_rules->judge(decision, evidence.total, placements);
  } else {
    decision.gain = {0, surely_gained, 1};
  }
  if (decision.state == State::undecided)
    decision.more = more_needed(decision, evidence, plan, m_rules->boundary);
  decision.reason = reason_for(decision, evidence, plan, surely_gained);
  return decision;
}

base::Expected<Decision> look(const Series& series, const Plan& plan) {
  AKO_TRY(const Tester tester, Tester::make(plan));
  return tester.look(series);
}

base::Expected<Decision> decide(const Series& series, const Plan& plan) {
  AKO_TRY(const Tester tester, Tester::make(plan));
  Series prefix{series.shapes, {}};
  for (const Placement& placement : series.placements) {
    prefix.placements.push_back(placement);
    AKO_TRY(Decision decision, tester.look(prefix));
    if (decision.state != State::go_on) return decision;
  }
  return tester.look(prefix);
}

} // namespace ako::stats
