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
  void add_pair(const client::SampleReport& old, const client::SampleReport& now) {
    judge::PairClaims pair;
    note(model::Side::incumbent, old, pair);
    note(model::Side::candidate, now, pair);
    add(pair);
  }
  std::vector<model::Evidence> evidence(const judge::Place& place) const;
  judge::Found untimed(const judge::Place& place) const {
    return judge::untimed_work(place, m_pairs);
  }
  judge::Saving saving() const { return judge::saving_of(m_pairs); }

private:
  int m_threads;
  std::vector<judge::PairClaims> m_pairs;
};

} // namespace ako::evaluation
