#include "generate.hpp"

#include <cmath>
#include <tuple>

namespace ako::bench {

namespace {

constexpr double k_base_ns = 100000;
// Student's t with 3 degrees has its quartiles at 0.7649, the normal at 0.6745.
constexpr double k_same_quartiles = 0.6744897501960817 / 0.7648923284043542;

/// The plan of the cpu lane: a minimum gain of 2 %, and a spread of placements of at most 8 %
/// taken for granted before it can be seen. Four pairs are what long calls get.
void add_plans(std::vector<Cell>& all) {
  for (const auto& [name, text, spread] :
       {std::tuple{"cpu-plan-4",
                   "plan of the cpu lane, 4 pairs: the gain of a placement spreads "
                   "by 4 %",
                   0.04},
        std::tuple{"cpu-plan-8", "... by 8 %, all that the plan allows for", 0.08},
        std::tuple{"cpu-plan-15", "... by 15 %, beyond what it allows for", 0.15}}) {
    Cell cell;
    cell.name = name;
    cell.text = text;
    cell.plan = PlanOf::cpu;
    cell.pairs = 4;
    cell.offset = OffsetKind::normal;
    cell.offset_size = spread / std::sqrt(2.0); // of each side
    all.push_back(cell);
  }
  Cell shapes;
  shapes.name = "five-shapes";
  shapes.text = "plan of the cpu lane, 5 shapes of weights 1 to 5, offsets of 0.2 % a side";
  shapes.plan = PlanOf::cpu;
  shapes.shapes = 5;
  shapes.offset = OffsetKind::normal;
  shapes.offset_size = 0.002;
  all.push_back(shapes);
  shapes.name = "five-one-loses";
  shapes.text = "... at the minimum gain four gain 10 % and one loses exactly what is allowed: no "
                "win either";
  shapes.gains = Gains::one_loses;
  all.push_back(shapes);
}

std::vector<Cell> make_cells() {
  std::vector<Cell> all;
  auto add = [&](const char* name, const char* text) -> Cell& {
    all.push_back({});
    all.back().name = name;
    all.back().text = text;
    return all.back();
  };
  add("noise", "normal noise of 0.4 % a sample, as in every cell below");
  add("drift", "times rise by 2 % over the run").drift = 0.02;
  Cell& spikes = add("spikes", "3 % of samples longer by up to half");
  spikes.spike_chance = 0.03;
  spikes.spike_size = 0.5;
  Cell& sticky =
      add("sticky-clock", "two clock states 7 % apart, left after 50 samples on average");
  sticky.clock_step = 0.07;
  sticky.clock_leave = 0.02;
  Cell& independent = add("independent-clock", "each sample in one of two states 7 % apart");
  independent.clock_step = 0.07;
  independent.clock_each_sample = true;
  add("period-four", "every fourth sample longer by 3 %").every_fourth = 0.03;
  auto offset = [&](const char* name, const char* text, OffsetKind kind, double size) {
    Cell& cell = add(name, text);
    cell.offset = kind;
    cell.offset_size = size;
  };
  offset("offset-0.2", "each side answers each placement by N(0, 0.2 %) of its own",
         OffsetKind::normal, 0.002);
  offset("offset-0.5", "each side answers each placement by N(0, 0.5 %) of its own",
         OffsetKind::normal, 0.005);
  offset("offset-0.5-bound", "... by a uniform draw within +-0.5 %", OffsetKind::uniform, 0.005);
  offset("offset-0.5-common", "... by N(0, 0.5 %), the same for both (shared buffers)",
         OffsetKind::common, 0.005);
  add("heavy-tails", "noise by Student's t, 3 degrees, quartiles of 0.4 % noise").heavy_tails =
      true;
  Cell& echo = add("autocorrelated", "a slow 1 % wander (0.95 from sample to sample) on the noise");
  echo.echo = 0.01;
  echo.echo_keep = 0.95;
  Cell& all_of_it =
      add("all-at-once", "drift, spikes, sticky clock, period four, offsets of 0.2 %");
  all_of_it.drift = 0.02;
  all_of_it.spike_chance = 0.03;
  all_of_it.spike_size = 0.5;
  all_of_it.clock_step = 0.07;
  all_of_it.clock_leave = 0.02;
  all_of_it.every_fourth = 0.03;
  all_of_it.offset = OffsetKind::normal;
  all_of_it.offset_size = 0.002;
  Cell& clumps = add("offset-alone", "N(0, 0.5 %) a side with next to no noise (0.03 %)");
  clumps.noise = 0.0003;
  clumps.offset = OffsetKind::normal;
  clumps.offset_size = 0.005;
  Cell& held = add("held-clock", "each side in one of two states 7 % apart for a whole placement");
  held.clock_step = 0.07;
  held.clock_each_side = true;
  add_plans(all);
  return all;
}

double side_offset(const Cell& cell, Random& random) {
  if (cell.offset == OffsetKind::uniform) return cell.offset_size * (2 * random.uniform() - 1);
  return cell.offset_size * random.normal();
}

double noise(const Cell& cell, Random& random) {
  if (!cell.heavy_tails) return cell.noise * random.normal();
  const double a = random.normal(), b = random.normal(), c = random.normal();
  return cell.noise * k_same_quartiles * random.normal() / std::sqrt((a * a + b * b + c * c) / 3);
}

} // namespace

const std::vector<Cell>& cells() {
  static const std::vector<Cell> all = make_cells();
  return all;
}

Random::result_type Random::operator()() { // splitmix: a Weyl sequence, mixed
  std::uint64_t z = (m_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double Random::uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
double Random::normal() { return m_normal(*this); }

Moments draw(const Cell& cell, int placements, int pairs, Random& random) {
  Moments moments;
  moments.placements = placements;
  moments.pairs = pairs;
  const int count = 2 * placements * pairs;
  moments.factor.resize(static_cast<std::size_t>(count));
  const bool clocked = cell.clock_each_sample || cell.clock_leave > 0;
  const int phase = static_cast<int>(random() % 4);
  bool slow = random.coin();
  double echo = cell.echo * random.normal();
  const double fresh = cell.echo * std::sqrt(1 - cell.echo_keep * cell.echo_keep);
  for (int t = 0; t < count; ++t) {
    // Tails this heavy reach below zero now and then; a time cannot.
    double f = cell.heavy_tails ? std::exp(noise(cell, random)) : 1 + noise(cell, random);
    f *= 1 + cell.drift * t / count;
    if (cell.spike_chance > 0 && random.uniform() < cell.spike_chance)
      f *= 1 + cell.spike_size * random.uniform();
    if (cell.clock_each_sample) slow = random.coin();
    else if (cell.clock_leave > 0 && random.uniform() < cell.clock_leave) slow = !slow;
    if (clocked && slow) f *= 1 + cell.clock_step;
    if (cell.every_fourth > 0 && t % 4 == phase) f *= 1 + cell.every_fourth;
    if (cell.echo > 0) {
      f *= 1 + echo;
      echo = cell.echo_keep * echo + fresh * random.normal();
    }
    moments.factor[static_cast<std::size_t>(t)] = f;
  }
  for (auto& side : moments.side_factor) side.assign(static_cast<std::size_t>(placements), 1);
  for (std::size_t p = 0; p < static_cast<std::size_t>(placements); ++p) {
    const double shared = cell.offset == OffsetKind::common ? side_offset(cell, random) : 0;
    for (auto& side : moments.side_factor) {
      if (cell.offset == OffsetKind::common) side[p] *= 1 + shared;
      else if (cell.offset != OffsetKind::none) side[p] *= 1 + side_offset(cell, random);
      if (cell.clock_each_side && random.coin()) side[p] *= 1 + cell.clock_step;
    }
  }
  return moments;
}

double Moments::at(int moment, int side, double gain) const {
  const auto placement = static_cast<std::size_t>(moment / (2 * pairs));
  return k_base_ns * (side == 1 ? 1 - gain : 1) * factor[static_cast<std::size_t>(moment)] *
         side_factor[side][placement];
}

namespace {

void fill_shape(const Moments& moments, std::size_t shape, double gain, Random& random,
                stats::Series& series) {
  const double scale = std::ldexp(1.0, static_cast<int>(shape));
  int moment = 0;
  for (stats::Placement& placement : series.placements) {
    placement.pairs[shape].resize(static_cast<std::size_t>(moments.pairs));
    for (stats::Pair& pair : placement.pairs[shape]) {
      const bool new_first = random.coin();
      pair.order = new_first ? stats::Order::new_first : stats::Order::old_first;
      const double first = scale * moments.at(moment, new_first ? 1 : 0, gain);
      const double second = scale * moments.at(moment + 1, new_first ? 0 : 1, gain);
      pair.old_ns = new_first ? second : first;
      pair.new_ns = new_first ? first : second;
      moment += 2;
    }
  }
}

} // namespace

void fill_series(const std::vector<Moments>& moments, const std::vector<double>& gains,
                 Random& random, stats::Series& series) {
  series.shapes.clear();
  for (std::size_t s = 0; s < moments.size(); ++s)
    series.shapes.push_back({std::to_string(s), static_cast<double>(s + 1)});
  series.placements.resize(static_cast<std::size_t>(moments.front().placements));
  for (stats::Placement& placement : series.placements) placement.pairs.resize(moments.size());
  for (std::size_t s = 0; s < moments.size(); ++s)
    fill_shape(moments[s], s, gains[s], random, series);
}

} // namespace ako::bench
