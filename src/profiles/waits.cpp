// Multiprocessors without work, and warps that wait.
#include "profiles/findings.hpp"

#include <algorithm>
#include <cmath>

namespace ako::profiles {
namespace {

double active(const Facts& f) { return std::isnan(f.sm_active) ? 1.0 : f.sm_active; }

void small_grid(const Facts& f, std::vector<Candidate>& out) {
  if (!(f.grid > 0 && f.sms > 0 && f.grid < f.sms) || 1 - f.grid / f.sms < 0.15) return;
  Candidate c = candidate("small_grid", Nature::idle, 1 - f.grid / f.sms, 0.95,
                          "multiprocessors without a block");
  prove(c, "launch__grid_size", f.grid, "block", f.sms);
  prove(c, "launch__sm_count", f.sms, "SM");
  prove(c, "sm__cycles_active.avg of the elapsed cycles", f.sm_active * 100, "%");
  out.push_back(std::move(c));
}

/// ncu prints waves with two digits, which hides a tail of one block: recomputed where the limits
/// are known.
double waves_of(const Facts& f) {
  const double blocks =
      std::min({std::isnan(f.limit_registers) ? 1e9 : f.limit_registers,
                std::isnan(f.limit_shared) ? 1e9 : f.limit_shared, f.limit_warps, f.limit_blocks});
  if (!(blocks >= 1 && blocks < 1e9) || !(f.sms > 0) || !(f.grid > 0)) return f.waves;
  const double waves = f.grid / (blocks * f.sms);
  return std::abs(waves - f.waves) < 0.01
             ? waves
             : f.waves; // clusters and partitions have rules of their own
}

/// A last wave that is mostly empty, seen in the multiprocessors' idle time.
bool tail(const Facts& f, std::vector<Candidate>& out) {
  const double waves = waves_of(f);
  if (!(waves > 1) || !(f.grid >= f.sms)) return false;
  const double whole = std::ceil(waves - 1e-9), predicted = 1 - waves / whole;
  const double idle = 1 - active(f);
  const double thinned = f.occupancy_possible > 0 ? 1 - f.occupancy / f.occupancy_possible : 0;
  if (predicted < 0.08 || idle < 0.05) return false;
  if (idle > 1.5 * predicted + 0.05) return false; // more idle than a tail explains
  Candidate c = candidate("tail_wave", Nature::idle,
                          std::max(idle, std::min(predicted, or_zero(thinned) * 0.5)), 0.85,
                          "idle multiprocessors, at most the empty part of the last wave");
  prove(c, "launch__waves_per_multiprocessor", waves, "wave");
  prove(c, "empty part of all waves", predicted * 100, "%", 8);
  prove(c, "idle multiprocessor time", idle * 100, "%", 5);
  out.push_back(std::move(c));
  return true;
}

void imbalance(const Facts& f, const std::vector<Roof>& roofs, std::vector<Candidate>& out) {
  if (!(f.grid >= f.sms)) return;
  const double idle = 1 - active(f);
  // In one or two waves without a tail the resident warps thin out only when blocks end at
  // different times.
  double expected = f.occupancy_possible;
  if (f.waves < 1) expected *= f.waves;
  const double thinned =
      f.waves <= 2.1 && f.waves > 0.6 && expected > 0 ? 1 - f.occupancy / expected : 0;
  const double headroom = std::max(0.0, active(f) - hardest(roofs));
  const double by_thinning = or_zero(thinned) >= 0.28 ? thinned * std::max(headroom, 0.3) : 0;
  const double gain = std::max(idle, by_thinning);
  if (gain < 0.1) return;
  const bool launch_bound = f.duration_ns > 0 && f.duration_ns < 8000;
  Candidate c = candidate("block_imbalance", Nature::idle, gain,
                          launch_bound  ? 0.3
                          : gain > 0.25 ? 0.85
                                        : 0.6,
                          "idle multiprocessors, or warps missing while blocks ran out");
  prove(c, "idle multiprocessor time", idle * 100, "%", 10);
  prove(c, "warps missing against what was launched", thinned * 100, "%", 28);
  prove(c, "launch__waves_per_multiprocessor", f.waves, "wave");
  if (launch_bound)
    c.finding.against.push_back("the kernel is so short that its start and end weigh as much");
  out.push_back(std::move(c));
}

void empty_lanes(const Facts& f, std::vector<Candidate>& out) {
  if (!(f.block > 0)) return;
  const double filled = f.block / (32 * std::ceil(f.block / 32));
  if (filled > 0.8) return;
  Candidate c = candidate("occupancy_block_size", Nature::excess, 1 - filled, 0.9,
                          "lanes that the block's size leaves empty");
  prove(c, "launch__block_size", f.block, "thread", 32);
  prove(c, "smsp__thread_inst_executed_per_inst_executed.ratio", f.lanes, "thread", 32);
  out.push_back(std::move(c));
}

struct Limiter {
  const char* id;
  const char* metric;
  double blocks;
};

/// Which resource keeps warps out.
Limiter limiter_of(const Facts& f) {
  const Limiter all[] = {
      {"occupancy_registers", "launch__occupancy_limit_registers", f.limit_registers},
      {"occupancy_shared_memory", "launch__occupancy_limit_shared_mem", f.limit_shared},
      {"occupancy_block_size", "launch__occupancy_limit_blocks", f.limit_blocks},
      {"occupancy_block_size", "launch__occupancy_limit_warps", f.limit_warps}};
  const Limiter* least = nullptr;
  for (const Limiter& one : all) {
    // Without shared memory of its own a block only pays what the system reserves, and the driver
    // sizes for that.
    if (std::string_view(one.id) == "occupancy_shared_memory" && f.shared_per_block < 1) continue;
    if (!std::isnan(one.blocks) && (!least || one.blocks < least->blocks)) least = &one;
  }
  return least ? *least : Limiter{nullptr, nullptr, k_unknown};
}

bool narrow(const Facts& f) {
  auto thin = [](double sectors, double bytes) {
    return sectors > 0 && sectors <= 2.1 && bytes >= 14;
  };
  const bool loads = thin(f.load_sectors_per_request, f.load_bytes_per_sector);
  const bool stores = thin(f.store_sectors_per_request, f.store_bytes_per_sector);
  const double all = or_zero(f.load_requests) + or_zero(f.store_requests);
  return all > 0 && ((loads ? f.load_requests : 0) + (stores ? f.store_requests : 0)) / all >= 0.5;
}

void memory_waits(const Facts& f, double headroom, std::vector<Candidate>& out) {
  const double waiting = or_zero(f.long_scoreboard) + or_zero(f.lg_throttle);
  if (waiting < 0.4 || headroom < 0.1) return;
  const double gain = headroom * waiting;
  std::vector<Candidate> causes;
  const Limiter limiter = limiter_of(f);
  if (f.occupancy_possible <= 0.6 && limiter.id) {
    Candidate c = candidate(limiter.id, Nature::wait, std::min(gain, 1 - f.occupancy_possible), 0.8,
                            "waiting time that the missing warps could fill");
    prove(c, "sm__maximum_warps_per_active_cycle_pct", f.occupancy_possible * 100, "%", 60);
    prove(c, limiter.metric, limiter.blocks, "block");
    prove(c, "launch__registers_per_thread", f.registers, "register/thread");
    prove(c, "shared memory per block", f.shared_per_block, "byte");
    causes.push_back(std::move(c));
  }
  if (narrow(f)) {
    Candidate c = candidate("narrow_accesses", Nature::wait, gain, 0.85,
                            "waiting time that wider requests could fill");
    prove(c, "l1tex sectors per global load request", f.load_sectors_per_request, "sector/request",
          2);
    prove(c, "l1tex sectors per global store request", f.store_sectors_per_request,
          "sector/request", 2);
    causes.push_back(std::move(c));
  }
  Candidate c = candidate("memory_latency", Nature::wait, gain, causes.empty() ? 0.8 : 0.5,
                          "active time that no roof accounts for x share of the waits for memory");
  prove(c, "warps stalled: long scoreboard", f.long_scoreboard * 100, "%", 40);
  prove(c, "warps stalled: LG throttle", f.lg_throttle * 100, "%");
  prove(c, "sm__warps_active.avg.pct_of_peak_sustained_active", f.occupancy * 100, "%");
  causes.push_back(std::move(c));
  // They are the same waiting time seen from different sides: the nearest cause leads.
  for (std::size_t i = 0; i < causes.size(); ++i) {
    causes[i].gain = gain * (1 - 0.1 * double(i));
    if (i > 0)
      causes[i].finding.against.push_back("the same waiting time as " + causes[0].finding.id +
                                          ": the two do not add up");
    out.push_back(std::move(causes[i]));
  }
}

void other_waits(const Facts& f, double headroom, std::vector<Candidate>& out) {
  if (or_zero(f.barrier) >= 0.2 && headroom * f.barrier >= 0.05) {
    Candidate c = candidate(
        "barrier_stalls", Nature::wait, headroom * f.barrier, f.barrier > 0.4 ? 0.85 : 0.65,
        "active time that no roof accounts for x share of the waits at barriers");
    prove(c, "warps stalled: barrier", f.barrier * 100, "%", 20);
    prove(c, "launch__block_size", f.block, "thread");
    out.push_back(std::move(c));
  }
  if (or_zero(f.no_instruction) >= 0.25 && headroom * f.no_instruction >= 0.1) {
    Candidate c =
        candidate("instruction_cache", Nature::wait, headroom * f.no_instruction, 0.8,
                  "active time that no roof accounts for x share of the waits for instructions");
    prove(c, "warps stalled: no instruction", f.no_instruction * 100, "%", 25);
    out.push_back(std::move(c));
  }
}

} // namespace

void find_idle(const Facts& f, const std::vector<Roof>& roofs, std::vector<Candidate>& out) {
  small_grid(f, out);
  empty_lanes(f, out);
  if (!tail(f, out)) imbalance(f, roofs, out);
}

void find_waits(const Facts& f, const std::vector<Roof>& roofs, std::vector<Candidate>& out) {
  const double most = hardest(roofs);
  if (most >= 0.7) return; // a busy roof explains the waits
  const double headroom = std::max(0.0, active(f) - most);
  memory_waits(f, headroom, out);
  other_waits(f, headroom, out);
}

} // namespace ako::profiles
