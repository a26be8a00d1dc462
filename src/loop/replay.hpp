// An iteration judged once more: its own sources, against what it was measured against then, under
// the seeds on record. Nothing is recorded and no file of the task changes.
#pragma once

#include "evaluation/request.hpp"
#include "loop/session.hpp"

#include <vector>

namespace ako::loop {

/// How a recorded piece of evidence fared.
struct ReplayedEvidence {
  model::Evidence recorded;
  bool again = false; ///< the same guard spoke at the same shape and tensor
  std::string text;   ///< what it said this time; empty when it was silent
};

struct Replayed {
  std::vector<ReplayedEvidence> evidence; ///< as on record
  std::vector<model::Evidence> others;    ///< seen this time alone
  model::Outcome recorded, now;
  evaluation::Report report;
  bool all_again() const;
};

/// Kind refused: the iteration never came to be judged, or its record names no seed. Kind stale:
/// the contract is not the one it was judged by.
base::Expected<Replayed> replay_iteration(const Session& session, std::int64_t number);

/// Whether two pieces of evidence say the same of the same place.
bool same_evidence(const model::Evidence& a, const model::Evidence& b);

} // namespace ako::loop
