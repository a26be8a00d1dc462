// Pairs of blocks in which calls that shared their core are left out, as far as enough remain.
#pragma once

#include "client/worker.hpp"
#include "model/samples.hpp"
#include "stats/crowding.hpp"
#include "stats/paired_test.hpp"

#include <array>
#include <vector>

namespace ako::evaluation {

/// What a pair of blocks left behind; index 0 is the old side, 1 the new.
struct PairParts {
  std::array<std::vector<stats::Stretch>, 2> stretches;
  std::array<std::size_t, 2> rows{}; ///< of the samples
};

std::vector<stats::Stretch> parts_of(const client::SampleReport& report);

/// How a free core reads is known the better the longer a run lasts, so that the choice is made
/// anew at every look, over all that was measured, for both sides by one limit.
class Crowds {
public:
  /// A pair that will stand at `pair` of shape `shape` of placement `placement` in the series.
  void add(std::size_t placement, std::size_t shape, std::size_t pair,
           const stats::Pair& as_measured, PairParts parts);
  /// Whether a block of this pair had no free stretch although the core is free at times: worth
  /// running again.
  bool crowded(const PairParts& parts) const;

  /// Where at least half of the pairs of a placement have free stretches on both sides, their times
  /// are those and the other pairs are left out; elsewhere everything is as it was measured.
  void apply(stats::Series& series, std::vector<model::Sample>& rows) const;

private:
  struct Entry {
    std::size_t placement, shape, pair;
    stats::Pair as_measured;
    PairParts parts;
  };
  using Group = std::vector<const Entry*>;
  void apply(const Group& group, double free_core, stats::Series& series,
             std::vector<model::Sample>& rows) const;

  std::vector<Entry> m_entries;
  std::vector<double> m_readings;
};

} // namespace ako::evaluation
