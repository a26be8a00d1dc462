// Then fast: blocks in pairs on shared buffers, placement after placement, until the statistics
// say stop.
#pragma once

#include "evaluation/blocks.hpp"
#include "evaluation/grading.hpp"
#include "stats/disturbed.hpp"
#include "stats/paired_test.hpp"

#include <optional>

namespace ako::evaluation {

struct Measured {
  stats::Decision decision;
  std::optional<model::Outcome> ended; ///< something other than the statistics ended it
  std::vector<model::Evidence> weak;
  model::Samples samples;
  std::vector<BlockPlan> blocks;     ///< per shape
  std::vector<double> floors_ns;     ///< per shape, 0 = none known
  std::string disturbed_reason;      ///< why blocks were run again or thrown away
  std::string cache_state;           ///< as the workers reached it
  std::int64_t calls = 0;            ///< timed calls of the candidate
  std::vector<std::string> unproven; ///< what there was no time to look at
  int blocks_run = 0, blocks_disturbed = 0;
  std::int64_t inside_ns = 0; ///< of it, waiting for children under measurement
};

enum class Round { first, second_opinion };

/// Both sides stand loaded on `stage`. `plan` bounds the run; coins and contents come from `seed`.
/// `scrutiny` (judge::scrutiny) of what was seen before: more of a win is graded.
base::Expected<Measured> measure_pairs(Stage& stage, const Request& request,
                                       const stats::Plan& plan, std::uint64_t seed, Round round,
                                       int scrutiny = 0);

/// What a device's timestamps leave open of a call's time, in a block of so many timed calls. ns
inline double tick_ns_of_block(int calls) { return 32.0 / calls; }
/// The contract's statistics plan for this round.
stats::Plan stats_plan(const model::Contract& contract, Round round);

} // namespace ako::evaluation
