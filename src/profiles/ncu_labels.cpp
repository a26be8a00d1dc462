#include "profiles/ncu.hpp"

#include <unordered_map>

namespace ako::profiles {
namespace {

// The same label may stand for two metrics of different units ("Memory Throughput"): the unit then
// decides.
const std::unordered_map<std::string_view, std::string_view>& labels() {
  static const std::unordered_map<std::string_view, std::string_view> all = {
      {"Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
      {"SOL SM", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
      {"Compute (SM) [%]", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
      {"Memory Throughput|%", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
      {"SOL Memory", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
      {"Memory [%]", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
      {"Memory Throughput|byte/s", "dram__bytes.sum.per_second"},
      {"L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
      {"SOL L1/TEX Cache", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
      {"L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
      {"SOL L2 Cache", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
      {"DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
      {"SOL DRAM", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
      {"Duration", "gpu__time_duration.sum"},
      {"Elapsed Cycles", "gpc__cycles_elapsed.max"},
      {"SM Frequency", "gpc__cycles_elapsed.avg.per_second"},
      {"DRAM Frequency", "dram__cycles_elapsed.avg.per_second"},
      {"SM Active Cycles", "sm__cycles_active.avg"},
      {"Average SM Active Cycles", "sm__cycles_active.avg"},
      {"Total SM Elapsed Cycles", "sm__cycles_elapsed.sum"},
      {"Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"},
      {"Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"},
      {"Block Limit Registers", "launch__occupancy_limit_registers"},
      {"Block Limit Shared Mem", "launch__occupancy_limit_shared_mem"},
      {"Block Limit Warps", "launch__occupancy_limit_warps"},
      {"Block Limit SM", "launch__occupancy_limit_blocks"},
      {"Block Limit Barriers", "launch__occupancy_limit_barriers"},
      {"Grid Size", "launch__grid_size"},
      {"Block Size", "launch__block_size"},
      {"Registers Per Thread", "launch__registers_per_thread"},
      {"Waves Per SM", "launch__waves_per_multiprocessor"},
      {"# SMs", "launch__sm_count"},
      {"Threads", "launch__thread_count"},
      {"Static Shared Memory Per Block", "launch__shared_mem_per_block_static"},
      {"Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic"},
      {"Driver Shared Memory Per Block", "launch__shared_mem_per_block_driver"},
      {"Shared Memory Configuration Size", "launch__shared_mem_config_size"},
      {"Cluster Size", "launch__cluster_size"},
      {"Issued Warp Per Scheduler", "smsp__issue_active.avg.per_cycle_active"},
      {"No Eligible", "smsp__issue_inst0.avg.pct_of_peak_sustained_active"},
      {"Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active"},
      {"Active Warps Per Scheduler", "smsp__warps_active.avg.per_cycle_active"},
      {"Warp Cycles Per Issued Instruction", "smsp__average_warp_latency_per_inst_issued.ratio"},
      {"Avg. Active Threads Per Warp", "smsp__thread_inst_executed_per_inst_executed.ratio"},
      {"Avg. Not Predicated Off Threads Per Warp",
       "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"},
      {"Executed Instructions", "smsp__inst_executed.sum"},
      {"Issued Instructions", "smsp__inst_issued.sum"},
      {"L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct"},
      {"L2 Hit Rate", "lts__t_sector_hit_rate.pct"},
      {"Local Memory Spilling Requests", "derived__local_spilling_requests"},
      {"Local Memory Spilling Request Overhead", "derived__local_spilling_requests_pct"},
      {"Branch Efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct"},
      {"SM Busy", "sm__instruction_throughput.avg.pct_of_peak_sustained_active"},
      {"Issue Slots Busy", "sm__inst_issued.avg.pct_of_peak_sustained_active"},
      {"Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active"},
      {"Executed Ipc Elapsed", "sm__inst_executed.avg.per_cycle_elapsed"},
  };
  return all;
}

} // namespace

std::string_view metric_of_label(std::string_view label, std::string_view base_unit) {
  const auto& known = labels();
  if (auto found = known.find(label); found != known.end()) return found->second;
  std::string with_unit = std::string(label) + "|" + std::string(base_unit);
  if (auto found = known.find(with_unit); found != known.end()) return found->second;
  return label;
}

} // namespace ako::profiles
