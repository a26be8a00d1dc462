// How many blocks one multiprocessor holds, and what limits it.
#pragma once

#include "arch/architecture.hpp"
#include "base/error.hpp"

namespace ako::arch {

struct BlockShape {
  int threads = 0;              ///< 1..1024
  int registers_per_thread = 0; ///< as the compiler reports them
  int shared_bytes = 0;         ///< static plus dynamic, without what the system reserves
  /// The shared part of the unified cache; 0 = the largest there is.
  int shared_configuration = 0;
};

enum class Limit { blocks, warps, registers, shared_memory };
const char* to_string(Limit limit);

struct Occupancy {
  int by_blocks = 0, by_warps = 0, by_registers = 0,
      by_shared = 0;          ///< blocks each limit would allow
  int blocks = 0, warps = 0;  ///< resident on one multiprocessor
  double share = 0;           ///< of the warps it can hold, 0..1
  Limit limit = Limit::warps; ///< the one that binds; of equals, what is easiest to change
};

/// invalid: the block cannot be launched at all (threads, registers or shared memory out of range).
base::Expected<Occupancy> occupancy(const Architecture& architecture, const BlockShape& block);

} // namespace ako::arch
