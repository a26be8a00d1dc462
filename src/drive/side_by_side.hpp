// Several settings of one campaign, each a driver in a worktree and a process of its own. Measuring
// takes turns by ako's lock on the device. At the end the best of each is tried on the task itself:
// the figures that choose are not those that are claimed.
#pragma once

#include "drive/driver.hpp"

#include <functional>
#include <memory>

namespace ako::drive {

struct SettingEnd {
  std::string name;
  base::fs::path task; ///< in its worktree
  int exit = 0;        ///< of its driver
  std::string failure; ///< why that was not 0
  std::optional<ledger::IterationRow> best;
  std::string outcome; ///< of the best, tried again on the task itself; empty = it had none
};
struct SideBySide {
  std::vector<SettingEnd> settings;
  ledger::Standing standing; ///< of the task itself, afterwards
  std::string winner;        ///< the setting whose best is the incumbent; empty = none
};

using MakeEvaluator = std::function<std::unique_ptr<Evaluator>()>;

/// Kind refused when the task's files are not committed: a worktree would not have them. Kind
/// interrupted when the user stopped it; run again, it goes on.
base::Expected<SideBySide> drive_side_by_side(const loop::Session& session,
                                              const Campaign& campaign,
                                              const MakeEvaluator& make_evaluator);

} // namespace ako::drive
