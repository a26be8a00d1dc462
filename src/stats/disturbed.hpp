// What to do with a block that was measured on a machine that was not quiet.
#pragma once

#include <string>
#include <vector>

namespace ako::stats {

/// What the watchers saw during one block; ratios are against the session's median.
struct BlockWatch {
  double clock_ratio = 1;      ///< core or SM clock
  double foreign_load = 0;     ///< share of the measuring cores' (or device's) time taken by others
  bool hardware_limit = false; ///< hardware slow-down, thermal or power-brake reason
  bool software_cap = false;   ///< software power cap: recorded, not a disturbance
};

struct DisturbedPolicy {
  double most_foreign_load = 0.05;
  double most_clock_step = 0.03; ///< |clock_ratio - 1| above this disturbs; 0 = not watched
  int repeats = 5;               ///< of one block
  double most_share = 0.5; ///< disturbed blocks in all blocks run, beyond which the run is invalid
  int settle = 24;         ///< blocks before the share is judged
};

enum class BlockAction { accept, repeat, invalid_measurement };
struct BlockJudgement {
  BlockAction action = BlockAction::accept;
  std::string reason; ///< what disturbed it, with the number and the limit; empty when quiet
};

/// The reason why a block is disturbed, or empty.
std::string disturbance(const BlockWatch& watch, const DisturbedPolicy& policy);

/// `attempts`: every run of THIS block so far, the newest last. `blocks_run` and `blocks_disturbed`
/// count all runs of the evaluation so far, this one included. Accept when the newest is quiet;
/// else repeat, until the repeats or the share are used up.
BlockJudgement judge_block(const std::vector<BlockWatch>& attempts, int blocks_run,
                           int blocks_disturbed, const DisturbedPolicy& policy);

} // namespace ako::stats
