// Many made-up runs of one cell, decided by the sequential test and by other tools' rules.
#pragma once

#include "evaluation/measuring.hpp"
#include "generate.hpp"

#include <array>
#include <iosfwd>

namespace ako::bench {

inline constexpr double k_min_gain = 0.005; ///< of a GPU's plan
inline constexpr int k_placements = 20, k_pairs = 10;
/// Gains in units of the plan's minimum gain: on a GPU 0, 0.5, 1 and 3 %.
inline constexpr std::array<double, 4> k_gains = {0, 1, 2, 6};
enum GainIndex : std::size_t { at_nothing, at_minimum, at_two, at_six };
/// The plan that an evaluation follows in this cell.
stats::Plan plan_of(const Cell& cell, evaluation::Round round);

struct Tally {
  long trials = 0, improved = 0, equivalent = 0, regressed = 0, undecided = 0, covered = 0;
  long confirmed = 0;    ///< improved, and so was the second opinion: what ako calls improved
  double placements = 0; ///< used, summed
  double second_placements = 0;                        ///< of second opinions
  long sign_faster = 0, sign_beyond = 0, u_faster = 0; ///< rules of other tools; beyond = min_gain
  Tally& operator+=(const Tally& other);
};
struct CellResult {
  Cell cell;
  std::array<Tally, k_gains.size()> at;
};

/// All gains beside other tools' rules, or false wins at the minimum gain alone, which is quick.
enum class Extent { all, false_wins };
/// Draws, decides and counts; the same numbers whatever `jobs` is.
CellResult simulate(const Cell& cell, long trials, int jobs, std::uint64_t seed, Extent extent);

/// Identical programs under drift and spikes, judged by several rules, and the best of thirty.
struct SameResult {
  double drift = 0;
  long trials = 0;
  long medians_blocks = 0, u_blocks = 0, sign_rounds = 0, ours = 0; ///< called faster or slower
  long best_looked_better = 0, best_ours = 0; ///< best of 30: by 0.2 % of medians; improved, fresh
};
SameResult simulate_same(double drift, long trials, std::uint64_t seed);

void print_table(std::ostream& out, const std::vector<CellResult>& results);
/// Of a run of extent false_wins.
void print_false_wins(std::ostream& out, const std::vector<CellResult>& results);
void print_same(std::ostream& out, const std::vector<SameResult>& results);
std::string to_json(const std::vector<CellResult>& results, const std::vector<SameResult>& same,
                    const std::string& command, double seconds);
/// The bounds that a cell promises; the broken ones, in words. A bound is broken when chance alone
/// explains the count with less than 1 in 10000.
std::vector<std::string> broken_bounds(const std::vector<CellResult>& results,
                                       const std::vector<SameResult>& same);
/// Processor, cores, compiler.
std::string machine();

} // namespace ako::bench
