// Made-up measurements: what a quiet or disturbed machine would have shown, written from a
// description of the disturbance and not from what any test assumes.
#pragma once

#include "stats/paired_test.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace ako::bench {

/// How the response of one side to one placement is drawn.
enum class OffsetKind { none, normal, uniform, common };

/// The lane whose plan decides: its minimum gain and what it assumes of placements.
enum class PlanOf { gpu, cpu };
/// How the gain lies on a cell's five shapes: alike on all, or (at the minimum gain alone) large on
/// four and a loss of exactly what is allowed on the fifth.
enum class Gains { alike, one_loses };

struct Cell {
  std::string name, text;
  PlanOf plan = PlanOf::gpu;
  int pairs = 10, shapes = 1; ///< shape number s has weight s + 1 and takes 2^s times as long
  Gains gains = Gains::alike;
  double noise = 0.004;                    ///< standard deviation of a sample, relative
  double drift = 0;                        ///< rise over the whole run
  double spike_chance = 0, spike_size = 0; ///< a sample longer by up to spike_size
  double clock_step = 0;                   ///< slow state against fast state
  double clock_leave = 0;                  ///< sticky: chance to change state after a sample
  bool clock_each_sample = false;          ///< independent: the state is drawn anew for each sample
  bool clock_each_side = false;            ///< ... or once for each placement and side
  double every_fourth = 0;                 ///< every fourth sample is longer by this
  OffsetKind offset = OffsetKind::none;
  double offset_size = 0;   ///< standard deviation (normal, common) or bound (uniform)
  bool heavy_tails = false; ///< noise by Student's t with 3 degrees of freedom, same quartiles
  double echo = 0;          ///< autocorrelated part: standard deviation
  double echo_keep = 0;     ///< its correlation from one sample to the next
};

/// The cells of the table, in its order.
const std::vector<Cell>& cells();

/// Small and fast; one for each trial, so that results do not depend on the number of threads.
class Random {
public:
  using result_type = std::uint64_t;
  explicit Random(std::uint64_t seed) : m_state(seed) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~std::uint64_t{0}; }
  result_type operator()();
  double uniform(); ///< [0, 1)
  double normal();
  bool coin() { return ((*this)() >> 63) != 0; }

private:
  std::uint64_t m_state;
  std::normal_distribution<double> m_normal;
};

/// One run of placements x pairs x 2 samples in time. What belongs to the moment (noise, drift,
/// spikes, clock, period) is drawn first; who ran at which moment comes later, so that several
/// schedules can be read off the same run.
struct Moments {
  int placements = 0, pairs = 0;
  std::vector<double> factor;         ///< by moment
  std::vector<double> side_factor[2]; ///< by placement; 0 = old, 1 = new
  double at(int moment, int side, double gain) const;
};
Moments draw(const Cell& cell, int placements, int pairs, Random& random);

/// Pairs in an order by coin, placement by placement: `moments` and `gains` hold one for each
/// shape.
void fill_series(const std::vector<Moments>& moments, const std::vector<double>& gains,
                 Random& random, stats::Series& series);

} // namespace ako::bench
