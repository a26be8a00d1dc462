// What was measured, raw.
#pragma once

#include "base/json.hpp"
#include "model/contract.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ako::model {

enum class Side { reference, incumbent, candidate };
const char* to_string(Side);

namespace sample_flag { // bits of Sample::flags
inline constexpr std::uint32_t disturbed =
    1; ///< foreign load, throttle or a clock step in the block
inline constexpr std::uint32_t repeated = 2;   ///< the block was run again
inline constexpr std::uint32_t graded = 4;     ///< its output was compared in full
inline constexpr std::uint32_t self_timed = 8; ///< could not be cross-checked outside the worker
inline constexpr std::uint32_t second_opinion = 16;
} // namespace sample_flag

/// One timed call or batch. All times are of ONE call (batch time / calls), in ns.
struct Sample {
  int shape = 0, placement = 0, pair = 0;
  Side side = Side::candidate;
  int order = 0;          ///< 0 = ran first in its pair
  double device_ns = 0;   ///< by the deciding clock; on the cpu lane the host's monotonic clock
  double call_ns = 0;     ///< host time of the call; NaN where not taken
  std::int64_t calls = 1; ///< calls in the batch
  std::uint32_t flags = 0;
};

/// State of the machine during a block.
struct BlockState {
  double clock_ratio = 1;    ///< core (or SM) clock by dependent adds against this session's median
  double foreign_load = 0;   ///< share of the measuring cores' time taken by others
  double parent_wall_ns = 0; ///< the block by the parent's clock
  base::Json device;         ///< power, temperature, clock event reasons; empty on the cpu lane
};

struct Samples {
  std::vector<Sample> rows;
  std::vector<BlockState> blocks;
};

base::Json to_json(const Samples& samples);

} // namespace ako::model
