// Trusted replay: the candidate's calls launched again by a process that holds its device code and
// nothing else of it.
#pragma once

#include "evaluation/blocks.hpp"
#include "evaluation/grading.hpp"

#include <string>
#include <vector>

namespace ako::evaluation {

struct Replayed {
  /// Empty = every shape was replayed and its outputs were right; otherwise why the candidate's own
  /// times are all there is.
  std::string self_timed;
  std::vector<model::Evidence> evidence; ///< decisive: the replay takes longer than was claimed
  base::Json shapes = base::Json::array();
};

/// Blocks of the candidate and of the replay in turn, on buffers of their own. Where a replay
/// cannot be had, or its outputs are wrong (state that no captured node made), nothing is held
/// against the candidate and the result is called self-timed.
base::Expected<Replayed> replay_candidate(Stage& stage, const Request& request,
                                          const std::vector<BlockPlan>& blocks, std::uint64_t seed);

/// Evidence when most of the replayed blocks took longer than was claimed by more than the limit:
/// one in twenty, and 0.3 us a call. Times of one call, block by block.
judge::Found replay_time(const judge::Place& place, const std::vector<double>& claimed_ns,
                         const std::vector<double>& replayed_ns);

} // namespace ako::evaluation
