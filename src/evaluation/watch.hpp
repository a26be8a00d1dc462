// The machine during a block: clock, foreign load, and whether the block must be run again.
#pragma once

#include "evaluation/stage.hpp"
#include "model/samples.hpp"
#include "stats/disturbed.hpp"

#include <vector>

namespace ako::evaluation {

/// Of the time that the worker was ready to run and had to wait for a core, what can have passed in
/// the timed part: no more than it has to spare. ns
std::int64_t waited_in_time(const client::SampleReport& report);

/// Brackets the blocks of one pair: begin() before, add() for each block, end() after. Foreign load
/// is the share of the timed parts in which the worker was ready to run and had to wait for a core,
/// as the kernel counts it in nanoseconds; /proc/stat's 10 ms steps are too coarse for a block.
class Watch {
public:
  explicit Watch(Stage& stage) : m_stage(stage) {}
  base::Status begin();
  void add(const client::SampleReport& report);
  /// State since begin(), in the terms of the statistics and of the record.
  struct Seen {
    stats::BlockWatch watch;
    model::BlockState state;
  };
  base::Expected<Seen> end();

private:
  Stage& m_stage;
  client::MachineState m_before;
  std::int64_t m_wait_ns = 0, m_wall_ns = 0;
  std::vector<double> m_clocks; ///< all seen by this watch, for their median
};

} // namespace ako::evaluation
