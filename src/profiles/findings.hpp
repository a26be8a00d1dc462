// Building findings; used by the detectors of this room only.
#pragma once

#include "model/profile.hpp"
#include "profiles/facts.hpp"

#include <string>
#include <vector>

namespace ako::profiles {

/// What a finding explains; decides which findings may stand beside each other.
enum class Nature {
  excess, ///< work that need not be done: holds at any utilisation
  idle,   ///< multiprocessors without work
  wait,   ///< warps that wait: only while no roof is near
  roof    ///< a unit that is busy
};

struct Candidate {
  model::Finding finding;
  Nature nature = Nature::wait;
  double gain = 0;
};

Candidate candidate(std::string id, Nature nature, double gain, double confidence,
                    std::string basis);

inline void prove(Candidate& c, std::string metric, double value, std::string unit,
                  double threshold) {
  if (value == value)
    c.finding.evidence.push_back({std::move(metric), value, std::move(unit), threshold});
}
inline void prove(Candidate& c, std::string metric, double value, std::string unit) {
  if (value == value) c.finding.evidence.push_back({std::move(metric), value, std::move(unit), {}});
}

/// The roofs that the kernel is under.
struct Roof {
  std::string id, name, metric;
  double used = 0;      ///< share of the peak, of elapsed time
  double claims = 0.6;  ///< from here on it is the limit
  double reached = 0.8; ///< from here on the kernel is at its ceiling
  double best = 0.92;   ///< the share that the best kernels reach
};
std::vector<Roof> roofs_of(const Facts& facts);
/// The highest share of any roof that would hold the kernel back.
double hardest(const std::vector<Roof>& roofs);

void find_excess(const Facts& facts, const std::vector<Roof>& roofs, std::vector<Candidate>& out);
void find_idle(const Facts& facts, const std::vector<Roof>& roofs, std::vector<Candidate>& out);
void find_waits(const Facts& facts, const std::vector<Roof>& roofs, std::vector<Candidate>& out);

} // namespace ako::profiles
