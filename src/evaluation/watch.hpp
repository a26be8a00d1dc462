// The machine during a block: clock, foreign load, and whether the block must be run again.
#pragma once

#include "evaluation/stage.hpp"
#include "model/samples.hpp"
#include "stats/disturbed.hpp"

#include <vector>

namespace ako::evaluation {

/// Brackets one block: begin() before, end() after.
class Watch {
public:
  explicit Watch(Stage& stage) : m_stage(stage) {}
  base::Status begin();
  /// State since begin(), in the terms of the statistics and of the record.
  struct Seen {
    stats::BlockWatch watch;
    model::BlockState state;
  };
  base::Expected<Seen> end();

private:
  Stage& m_stage;
  client::MachineState m_before;
  std::int64_t m_own_before = 0;
  std::vector<double> m_clocks; ///< all seen in this session, for their median
};

} // namespace ako::evaluation
