// What the candidate claims against what was seen outside, pair by pair.
#pragma once

#include "client/worker.hpp"
#include "judge/guards.hpp"
#include "model/samples.hpp"

#include <vector>

namespace ako::evaluation {

/// Content of a pair: wholly new, or new in a few elements of every page.
enum class Fresh { whole, in_part };

/// Of one shape.
class Claims {
public:
  /// `threads`: cores that a call may use; 0 = all.
  explicit Claims(int threads) : m_threads(threads) {}

  /// One side's block of the pair. With one thread its processor time stands for the outside: work
  /// on other cores is in it. A team's threads spin while they have nothing to do, so that with
  /// more of them the wall clock must do.
  void note(model::Side side, const client::SampleReport& report, judge::PairClaims& pair) const;
  /// A pair that nothing disturbed.
  void add(const judge::PairClaims& pair, Fresh fresh);
  std::vector<model::Evidence> evidence(const judge::Place& place) const;

private:
  int m_threads;
  std::vector<judge::PairClaims> m_pairs;
  std::vector<double> m_whole, m_in_part; ///< candidate's time over the incumbent's
};

} // namespace ako::evaluation
