#include "stats/disturbed.hpp"

#include "base/error.hpp"

#include <cmath>
#include <fmt/format.h>

namespace ako::stats {

std::string disturbance(const BlockWatch& watch, const DisturbedPolicy& policy) {
  if (watch.hardware_limit)
    return "the hardware slowed itself down (thermal, power brake or slow-down reason)";
  if (!std::isfinite(watch.foreign_load) || watch.foreign_load > policy.most_foreign_load)
    return fmt::format("foreign work took {:.1f} % of the measuring cores, more than {:.1f} %",
                       100 * watch.foreign_load, 100 * policy.most_foreign_load);
  if (policy.most_clock_step > 0) {
    const double step = std::fabs(watch.clock_ratio - 1);
    if (!std::isfinite(step) || step > policy.most_clock_step)
      return fmt::format("the clock stood at {:.1f} % of the session's median, beyond {:.1f} %",
                         100 * watch.clock_ratio, 100 * policy.most_clock_step);
  }
  return {};
}

BlockJudgement judge_block(const std::vector<BlockWatch>& attempts, int blocks_run,
                           int blocks_disturbed, const DisturbedPolicy& policy) {
  AKO_CHECK(!attempts.empty(), "a block that was never run cannot be judged");
  BlockJudgement judgement{BlockAction::accept, disturbance(attempts.back(), policy)};
  if (judgement.reason.empty()) return judgement;
  const auto runs = static_cast<int>(attempts.size());
  if (runs > policy.repeats) {
    judgement.action = BlockAction::invalid_measurement;
    judgement.reason += fmt::format("; so it did in each of {} runs of this block", runs);
  } else if (blocks_run >= policy.settle &&
             blocks_disturbed > policy.most_share * static_cast<double>(blocks_run)) {
    judgement.action = BlockAction::invalid_measurement;
    judgement.reason += fmt::format("; {} of {} blocks were disturbed, more than {:.0f} %",
                                    blocks_disturbed, blocks_run, 100 * policy.most_share);
  } else {
    judgement.action = BlockAction::repeat;
  }
  return judgement;
}

} // namespace ako::stats
