// The few numbers of a capture that a diagnosis reasons with, in one unit: shares from 0 to 1, NaN
// where unknown.
#pragma once

#include "profiles/ncu.hpp"

#include <array>
#include <limits>
#include <string>
#include <string_view>

namespace ako::profiles {

constexpr double k_unknown = std::numeric_limits<double>::quiet_NaN();

/// NaN counts as nothing.
inline double or_zero(double value) { return value == value ? value : 0; }

struct Facts {
  // Shares of a peak, over elapsed time.
  double sm = k_unknown, memory = k_unknown, dram = k_unknown, l2 = k_unknown, l1 = k_unknown;
  double alu = k_unknown, fma = k_unknown, fp64 = k_unknown, xu = k_unknown, tensor = k_unknown,
         lsu = k_unknown;
  double issue = k_unknown; ///< issue slots used while the multiprocessors were active
  double sm_active =
      k_unknown; ///< mean over multiprocessors of the share of the time they had work
  double occupancy = k_unknown, occupancy_possible = k_unknown;
  // Launch.
  double duration_ns = k_unknown, sms = k_unknown, grid = k_unknown, block = k_unknown,
         waves = k_unknown, registers = k_unknown;
  double limit_registers = k_unknown, limit_shared = k_unknown, limit_warps = k_unknown,
         limit_blocks = k_unknown;
  double shared_per_block = k_unknown;
  // Instructions, in warps.
  double instructions = k_unknown, global_loads = k_unknown, global_stores = k_unknown,
         local = k_unknown, spills = k_unknown;
  double shared_loads = k_unknown, shared_stores = k_unknown, atomics = k_unknown,
         shared_atomics = k_unknown;
  double ffma = k_unknown, fadd_fmul = k_unknown, fp64_ops = k_unknown;
  double lanes = k_unknown,
         lanes_predicated = k_unknown; ///< threads that take part in an instruction, of 32
  // Memory.
  double load_sectors_per_request = k_unknown, store_sectors_per_request = k_unknown;
  double load_bytes_per_sector = k_unknown, store_bytes_per_sector = k_unknown;
  double load_requests = k_unknown, store_requests = k_unknown, load_sectors = k_unknown,
         store_sectors = k_unknown;
  double excess_sectors =
      k_unknown; ///< share of the global sectors that better addresses would save
  double global_share_of_l2 = k_unknown; ///< of the sectors that L2 served
  double local_sector_share = k_unknown; ///< of the sectors that L1 handled
  double bank_excess = k_unknown; ///< share of shared-memory wavefronts beyond the fewest possible
  double bank_ways = k_unknown;
  double dram_bytes = k_unknown;
  double fp32_peak_share = k_unknown;
  // Where warps waited: share of the time between two instructions of a warp.
  double long_scoreboard = k_unknown, short_scoreboard = k_unknown, barrier = k_unknown,
         lg_throttle = k_unknown, mio_throttle = k_unknown, membar = k_unknown,
         no_instruction = k_unknown, math_throttle = k_unknown, wait = k_unknown, drain = k_unknown;
  bool from_details = false; ///< no raw metrics: some facts come from the text of ncu's rules
  std::string kernel_name;
};

Facts facts_of(const NcuKernel& kernel);

} // namespace ako::profiles
