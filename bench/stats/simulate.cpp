#include "simulate.hpp"

#include "rules.hpp"
#include "stats/best_of.hpp"
#include "stats/summary.hpp"

#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

namespace ako::bench {

namespace {

std::uint64_t seed_of(std::uint64_t seed, const std::string& name, std::uint64_t a,
                      std::uint64_t b) {
  std::uint64_t h = 1469598103934665603u ^ seed;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  Random mix(h + a * 0x9e3779b97f4a7c15u);
  return mix() ^ (b * 0xd1342543de82ef95u);
}

stats::Tester make_tester(const stats::Plan& plan) {
  auto tester = stats::Tester::make(plan);
  AKO_CHECK(tester.has_value(), "the plan of the simulation is lawful");
  return std::move(*tester);
}

stats::Tester make_tester(int most, int candidates) {
  stats::Plan plan;
  plan.min_gain = k_min_gain;
  plan.most_placements = most;
  plan.pairs_per_placement = k_pairs;
  plan.candidates = candidates;
  return make_tester(plan);
}

/// One run's made-up times of every shape.
std::vector<Moments> draw_all(const Cell& cell, int placements, Random& random) {
  std::vector<Moments> all;
  for (int s = 0; s < cell.shapes; ++s) all.push_back(draw(cell, placements, cell.pairs, random));
  return all;
}

/// What each shape gains where the cell's gain is `units` minimum gains.
std::vector<double> gains_of(const Cell& cell, const stats::Plan& plan, std::size_t g) {
  std::vector<double> out(static_cast<std::size_t>(cell.shapes), k_gains[g] * plan.min_gain);
  if (cell.gains == Gains::one_loses && g == at_minimum) {
    std::fill(out.begin(), out.end(), 0.1);
    out.front() = -plan.max_regression;
  }
  return out;
}

/// Of the weighted sum of times.
double total_gain(const std::vector<double>& gains) {
  double before = 0, after = 0;
  for (std::size_t s = 0; s < gains.size(); ++s) {
    const double cost = std::ldexp(static_cast<double>(s + 1), static_cast<int>(s));
    before += cost;
    after += cost * (1 - gains[s]);
  }
  return 1 - after / before;
}

/// Hands the placements over one by one, as an evaluation does; says how many were used.
stats::Decision run(const stats::Tester& tester, stats::Series& full, std::size_t& used) {
  stats::Series seen;
  seen.shapes = full.shapes;
  for (stats::Placement& placement : full.placements) {
    seen.placements.push_back(std::move(placement));
    used = seen.placements.size();
    if (!tester.looks_after(static_cast<int>(used))) continue;
    auto decision = tester.look(seen);
    AKO_CHECK(decision.has_value(), "made-up times are positive");
    if (decision->state != stats::State::go_on) return std::move(*decision);
  }
  AKO_CHECK(false, "the last look decides");
  return {};
}

/// The first opinion and the second, as an evaluation plans them.
struct Testers {
  explicit Testers(const Cell& cell)
      : plan(plan_of(cell, evaluation::Round::first)), first(make_tester(plan)),
        second_plan(plan_of(cell, evaluation::Round::second_opinion)),
        second(make_tester(second_plan)) {}
  stats::Plan plan;
  stats::Tester first;
  stats::Plan second_plan;
  stats::Tester second;
};

/// As a verdict calls it: the stated interval must lie above the minimum gain as well.
bool improved(const stats::Decision& decision, const stats::Plan& plan) {
  return decision.state == stats::State::improved && decision.gain.low > plan.min_gain;
}

bool is_confirmed(const Cell& cell, const std::vector<double>& gains, const Testers& testers,
                  Random& random, Tally& tally) {
  stats::Series series;
  fill_series(draw_all(cell, testers.second_plan.most_placements, random), gains, random, series);
  std::size_t used = 0;
  const bool out = improved(run(testers.second, series, used), testers.second_plan);
  tally.second_placements += static_cast<double>(used);
  return out;
}

void one_trial(const Cell& cell, std::size_t g, bool peers, const Testers& testers, Random& random,
               Tally& tally) {
  const std::vector<double> gains = gains_of(cell, testers.plan, g);
  const std::vector<Moments> moments = draw_all(cell, testers.plan.most_placements, random);
  stats::Series series;
  fill_series(moments, gains, random, series);
  std::size_t used = 0;
  const stats::Decision decision = run(testers.first, series, used);
  ++tally.trials;
  tally.placements += static_cast<double>(used);
  const bool win = improved(decision, testers.plan);
  tally.improved += win;
  tally.equivalent += decision.state == stats::State::equivalent;
  tally.regressed += decision.state == stats::State::regressed;
  tally.undecided += decision.state == stats::State::undecided;
  if (win) tally.confirmed += is_confirmed(cell, gains, testers, random, tally);
  const double gain = total_gain(gains);
  tally.covered += decision.gain.low <= gain && gain <= decision.gain.high;
  if (!peers) return;
  const RatioInterval interval = interleaved_sign_interval(moments.front(), gain);
  tally.sign_faster += call_of(interval, 0) == Call::faster;
  tally.sign_beyond += call_of(interval, k_min_gain) == Call::faster;
  tally.u_faster += block_u_test(moments.front(), gain, k_placements) == Call::faster;
}

} // namespace

stats::Plan plan_of(const Cell& cell, evaluation::Round round) {
  model::Contract contract;
  contract.kernel.lane = cell.plan == PlanOf::cpu ? model::Lane::cpu : model::Lane::cuda;
  contract.accept = model::default_accept(contract.kernel.lane);
  contract.limits.placements = k_placements;
  contract.limits.pairs = cell.pairs;
  return evaluation::stats_plan(contract, round);
}

Tally& Tally::operator+=(const Tally& other) {
  trials += other.trials;
  improved += other.improved;
  equivalent += other.equivalent;
  regressed += other.regressed;
  undecided += other.undecided;
  covered += other.covered;
  confirmed += other.confirmed;
  placements += other.placements;
  second_placements += other.second_placements;
  sign_faster += other.sign_faster;
  sign_beyond += other.sign_beyond;
  u_faster += other.u_faster;
  return *this;
}

CellResult simulate(const Cell& cell, long trials, int jobs, std::uint64_t seed, Extent extent) {
  const Testers testers(cell);
  CellResult result{cell, {}};
  std::mutex mutex;
  for (std::size_t g = 0; g < k_gains.size(); ++g) {
    if (extent == Extent::false_wins && g != at_minimum) continue;
    std::atomic<long> next = 0;
    auto work = [&] {
      Tally own;
      for (long trial; (trial = next.fetch_add(1)) < trials;) {
        Random random(seed_of(seed, cell.name, g, static_cast<std::uint64_t>(trial)));
        const bool peers = extent == Extent::all && g != at_six && cell.plan == PlanOf::gpu;
        one_trial(cell, g, peers, testers, random, own);
      }
      const std::lock_guard lock(mutex);
      result.at[g] += own;
    };
    std::vector<std::jthread> threads;
    for (int j = 1; j < jobs; ++j) threads.emplace_back(work);
    work();
    threads.clear(); // joins
  }
  return result;
}

SameResult simulate_same(double drift, long trials, std::uint64_t seed) {
  constexpr int k_few_placements = 10, k_many = 30, k_glimpse = 20; // 100 samples a side; K; look
  Cell cell;
  cell.name = "same";
  cell.drift = drift;
  cell.spike_chance = 0.03;
  cell.spike_size = 0.5;
  const stats::Tester tester = make_tester(k_few_placements, 1);
  const stats::Tester of_many = make_tester(k_few_placements, k_many);
  SameResult result;
  result.drift = drift;
  result.trials = trials;
  for (long trial = 0; trial < trials; ++trial) {
    Random random(seed_of(seed, cell.name, drift > 0, static_cast<std::uint64_t>(trial)));
    const Moments moments = draw(cell, k_few_placements, k_pairs, random);
    std::vector<double> first, second;
    for (int t = 0; t < 100; ++t) {
      first.push_back(moments.at(t, 0, 0));
      second.push_back(moments.at(100 + t, 1, 0));
    }
    result.medians_blocks +=
        std::fabs(stats::median(second) / stats::median(first) - 1) > k_min_gain;
    result.u_blocks += block_u_test(moments, 0, 10) != Call::nothing;
    result.sign_rounds += call_of(interleaved_sign_interval(moments, 0), 0) != Call::nothing;
    stats::Series series;
    fill_series({moments}, {0}, random, series);
    std::size_t used = 0;
    const stats::State state = run(tester, series, used).state;
    result.ours += state == stats::State::improved || state == stats::State::regressed;

    // Thirty copies of the incumbent glimpsed at; the one that looks best is measured afresh.
    double best = 0;
    for (int k = 0; k < k_many; ++k) {
      const Moments glimpse = draw(cell, 1, k_glimpse, random);
      std::vector<double> before, after;
      for (int t = 0; t < 2 * k_glimpse; ++t)
        (t % 2 ? after : before).push_back(glimpse.at(t, t % 2, 0));
      best = std::max(best, 1 - stats::median(after) / stats::median(before));
    }
    result.best_looked_better += best > 0.002;
    if (stats::winner_rule(k_many, stats::Evidence::selection) == stats::Claim::measure_again) {
      stats::Series fresh;
      fill_series({draw(cell, k_few_placements, k_pairs, random)}, {0}, random, fresh);
      result.best_ours += run(of_many, fresh, used).state == stats::State::improved;
    }
  }
  return result;
}

} // namespace ako::bench
