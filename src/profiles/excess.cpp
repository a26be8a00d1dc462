// Work that need not be done.
#include "profiles/findings.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::profiles {
namespace {

constexpr double k_least_gain = 0.1;

double used(const std::vector<Roof>& roofs, std::string_view id) {
  for (const Roof& roof : roofs)
    if (roof.id == id) return roof.used;
  return 0;
}

/// Share of the time that memory accounts for: a busy unit, or warps that wait for one.
double memory_time(const Facts& f) {
  double busy = std::max({or_zero(f.dram), or_zero(f.l2), or_zero(f.l1) >= 0.85 ? f.l1 : 0.0});
  double waits = or_zero(f.long_scoreboard) + or_zero(f.lg_throttle) + or_zero(f.drain);
  return std::clamp(std::max(busy, waits * std::min(1.0, 1 - or_zero(f.issue))), 0.0, 1.0);
}

void uncoalesced(const Facts& f, std::vector<Candidate>& out) {
  const double share = or_zero(f.excess_sectors) * or_zero(f.global_share_of_l2);
  const double busy = std::max(or_zero(f.dram), or_zero(f.l2));
  const double gain = share * busy;
  if (share < 0.25 || gain < k_least_gain) return;
  Candidate c = candidate("uncoalesced_global_access", Nature::excess, gain,
                          share > 0.5 ? 0.9 : 0.7, "excess sectors x the busier of L2 and DRAM");
  prove(c, "excess share of memory_l2_theoretical_sectors_global", f.excess_sectors * 100, "%", 25);
  prove(c, "l1tex sectors per global load request", f.load_sectors_per_request, "sector/request");
  prove(c, "l1tex sectors per global store request", f.store_sectors_per_request, "sector/request");
  prove(c, "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
        f.load_bytes_per_sector, "byte/sector");
  prove(c, "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",
        f.store_bytes_per_sector, "byte/sector");
  out.push_back(std::move(c));
}

void local_memory(const Facts& f, std::vector<Candidate>& out) {
  const double instructions = f.local / f.instructions;
  const double gain = or_zero(f.local_sector_share) * memory_time(f);
  if (!(or_zero(instructions) >= 0.02 || (f.from_details && or_zero(f.spills) > 0))) return;
  const bool details = f.from_details || std::isnan(f.local_sector_share);
  const double bound = details ? std::max(or_zero(f.dram), or_zero(f.l2)) : gain;
  if (bound < k_least_gain) return;
  const bool spills = details || or_zero(f.spills) >= 0.5 * or_zero(f.local);
  Candidate c = candidate(spills ? "register_spills" : "local_memory_indexing", Nature::excess,
                          bound, details ? 0.6 : 0.9,
                          details ? "the busier of L2 and DRAM"
                                  : "share of local sectors in L1 x the time memory accounts for");
  prove(c, "local loads and stores of all instructions", instructions * 100, "%", 2);
  prove(c, "local sectors of L1's sectors", f.local_sector_share * 100, "%");
  prove(c, "sass__inst_executed_register_spilling", f.spills, "inst");
  prove(c, "launch__registers_per_thread", f.registers, "register/thread");
  out.push_back(std::move(c));
}

void bank_conflicts(const Facts& f, std::vector<Candidate>& out) {
  if (or_zero(f.shared_loads) + or_zero(f.shared_stores) <= 0 && !f.from_details) return;
  double pipe = std::max(or_zero(f.l1), or_zero(f.short_scoreboard) + or_zero(f.mio_throttle));
  const double gain = or_zero(f.bank_excess) * pipe;
  if (or_zero(f.bank_excess) < 0.1 || gain < k_least_gain) return;
  const bool atomics =
      or_zero(f.shared_atomics) > 0.2 * (or_zero(f.shared_loads) + or_zero(f.shared_stores));
  if (atomics) return; // the same address, not the same bank
  Candidate c = candidate("shared_bank_conflicts", Nature::excess, gain, 0.9,
                          "wavefronts beyond the fewest x use of the shared-memory pipe");
  prove(c, "excess share of memory_l1_wavefronts_shared", f.bank_excess * 100, "%", 10);
  prove(c, "wavefronts per ideal wavefront", f.bank_ways, "way");
  prove(c, "l1tex__throughput.avg.pct_of_peak_sustained_active", f.l1 * 100, "%");
  out.push_back(std::move(c));
}

void divergence(const Facts& f, const std::vector<Roof>& roofs, std::vector<Candidate>& out) {
  if (std::isnan(f.lanes)) return;
  // Lanes that the block's size leaves empty are another matter.
  double possible = 32;
  if (f.block > 0) possible = f.block / std::ceil(f.block / 32);
  const double lost = 1 - std::min(1.0, f.lanes / possible);
  const double busy =
      std::max({or_zero(f.issue) * (std::isnan(f.sm_active) ? 1 : f.sm_active), hardest(roofs)});
  const double gain = lost * busy;
  if (lost < 0.2 || gain < k_least_gain) return;
  if (or_zero(f.shared_atomics) >= 0.02 * or_zero(f.instructions) && or_zero(f.shared_atomics) > 0)
    return; // retries of atomics
  Candidate c = candidate("warp_divergence", Nature::excess, gain, 0.85,
                          "idle lanes x use of the issue slots or the busiest pipe");
  prove(c, "smsp__thread_inst_executed_per_inst_executed.ratio", f.lanes, "thread", possible * 0.8);
  prove(c, "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", f.lanes_predicated,
        "thread");
  prove(c, "smsp__issue_active.avg.per_cycle_active", f.issue, "inst/cycle");
  out.push_back(std::move(c));
}

/// Fused multiply-adds fed from shared memory, with little else: the signature of a matrix product.
void idle_tensor_cores(const Facts& f, const std::vector<Roof>& roofs,
                       std::vector<Candidate>& out) {
  if (or_zero(f.tensor) > 0.1) return;
  const bool details = f.from_details;
  const double ffma = f.ffma / f.instructions, fed = f.shared_loads / f.ffma;
  const double reuse = f.ffma / std::max(1.0, or_zero(f.load_sectors));
  bool product = ffma >= 0.25 && or_zero(f.ffma) >= 3 * or_zero(f.fadd_fmul) && fed >= 0.04 &&
                 fed <= 3 && reuse >= 0.5;
  if (details)
    product = or_zero(f.fp32_peak_share) >= 0.08 && or_zero(f.l1) >= 0.85 &&
              f.shared_per_block >= 1024 && !(f.bank_excess > 0.1);
  if (!product) return;
  const double memory =
      std::max(used(roofs, "dram_bandwidth_bound"), used(roofs, "l2_bandwidth_bound"));
  // Dense tf32 is at least 7 times the FP32 rate on every architecture with tensor cores that ako
  // knows.
  const double matrix = or_zero(details ? f.fp32_peak_share : f.fma) / 7;
  Candidate c = candidate("tensor_cores_idle", Nature::excess, 1 - std::max({memory, matrix, 0.05}),
                          details ? 0.4 : 0.75,
                          "the tensor cores at a seventh of the FP32 time, memory as it is");
  prove(c, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        or_zero(f.tensor) * 100, "%", 10);
  prove(c, "FFMA of all instructions", ffma * 100, "%", 25);
  prove(c, "shared loads per FFMA", fed, "inst", 3);
  prove(c, "share of the FP32 peak", f.fp32_peak_share * 100, "%", 8);
  c.finding.against.push_back("holds only if this is a matrix product or convolution and its "
                              "precision may be that of the tensor cores");
  out.push_back(std::move(c));
}

bool name_says_layout(const std::string& name) {
  for (const char* word : {"transpose", "Transpose", "permute", "nchwToNhwc", "nhwcToNchw",
                           "direct_copy_kernel", "im2col", "layout"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

void layout(const Facts& f, std::vector<Candidate>& out) {
  if (std::isnan(f.global_loads) || f.instructions <= 0) return;
  const double accesses = or_zero(f.global_loads) + or_zero(f.global_stores);
  const bool arithmetic =
      or_zero(f.ffma) + or_zero(f.fadd_fmul) + or_zero(f.fp64_ops) > 0.01 * f.instructions ||
      or_zero(f.tensor) > 0.1;
  const bool balanced = f.load_sectors > 0 && f.store_sectors > 0 &&
                        f.global_loads < 1.25 * f.global_stores &&
                        f.global_stores < 1.25 * f.global_loads;
  if (arithmetic || !balanced || or_zero(f.atomics) > 0 || or_zero(f.local) > 0) return;
  const double staging =
      std::min(or_zero(f.shared_loads), or_zero(f.shared_stores)) / std::max(1.0, f.global_stores);
  const double per_access = f.instructions / std::max(1.0, accesses);
  const bool staged = staging >= 0.5 && staging <= 2;
  const bool indexed = per_access >= 20 && per_access <= 80 && or_zero(f.alu) >= 0.2;
  const double traffic = std::max({or_zero(f.dram), or_zero(f.l2)});
  if (!(staged || indexed || name_says_layout(f.kernel_name)) || per_access > 80 || traffic < 0.25)
    return;
  Candidate c = candidate("layout_conversion", Nature::excess, 0.99,
                          staged                            ? 0.8
                          : name_says_layout(f.kernel_name) ? 0.75
                                                            : 0.5,
                          "the whole pass, if a neighbour can read or write the other layout");
  prove(c, "floating-point and tensor instructions of all",
        (or_zero(f.ffma) + or_zero(f.fadd_fmul)) / f.instructions * 100, "%", 1);
  prove(c, "global loads per global store", f.global_loads / f.global_stores, "inst");
  prove(c, "shared-memory round trips per global store", staging, "inst", 0.5);
  prove(c, "instructions per global access", per_access, "inst");
  c.finding.against.push_back("if the conversion must stay, what is left is the DRAM roof");
  out.push_back(std::move(c));
}

void atomics(const Facts& f, const std::vector<Roof>& roofs, std::vector<Candidate>& out) {
  const double share = f.atomics / f.instructions;
  double most = hardest(roofs);
  const bool shared =
      or_zero(f.shared_atomics) > 0.5 * or_zero(f.atomics) && or_zero(f.atomics) > 0;
  if (f.from_details) {
    // A queue that is full while nothing moves: only serialised accesses do that.
    if (!(f.lg_throttle >= 0.5 && or_zero(f.l2) < 0.1 && or_zero(f.dram) < 0.1)) return;
  } else {
    if (or_zero(share) < 0.01 || (!shared && most >= 0.6)) return;
    const double waits =
        or_zero(f.long_scoreboard) + or_zero(f.lg_throttle) + or_zero(f.membar) + or_zero(f.drain);
    const double shared_waits =
        or_zero(f.short_scoreboard) + or_zero(f.mio_throttle) + or_zero(f.wait);
    if (std::max(waits, shared ? shared_waits + or_zero(f.long_scoreboard) : 0) < 0.3) return;
    if (shared) most = std::max(or_zero(f.dram), or_zero(f.l2));
  }
  Candidate c = candidate("atomic_contention", Nature::excess, 1 - most,
                          f.from_details ? 0.5 : 0.85, "what no other unit accounts for");
  prove(c, "atomics and reductions of all instructions", share * 100, "%", 1);
  prove(c, "warps stalled: long scoreboard", f.long_scoreboard * 100, "%");
  prove(c, "warps stalled: LG throttle", f.lg_throttle * 100, "%", 50);
  prove(c, "warps stalled: membar", f.membar * 100, "%");
  prove(c, "lts__throughput.avg.pct_of_peak_sustained_elapsed", f.l2 * 100, "%");
  out.push_back(std::move(c));
}

} // namespace

void find_excess(const Facts& f, const std::vector<Roof>& roofs, std::vector<Candidate>& out) {
  uncoalesced(f, out);
  local_memory(f, out);
  bank_conflicts(f, out);
  divergence(f, roofs, out);
  idle_tensor_cores(f, roofs, out);
  layout(f, out);
  atomics(f, roofs, out);
}

} // namespace ako::profiles
