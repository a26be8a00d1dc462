// What the candidate claims against what was seen outside, pair by pair.
#pragma once

#include "client/worker.hpp"
#include "judge/guards.hpp"
#include "model/samples.hpp"

#include <vector>

namespace ako::evaluation {

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
  void add(const judge::PairClaims& pair) { m_pairs.push_back(pair); }
  std::vector<model::Evidence> evidence(const judge::Place& place) const;

private:
  int m_threads;
  std::vector<judge::PairClaims> m_pairs;
};

} // namespace ako::evaluation
