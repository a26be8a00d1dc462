#include "profiles/facts.hpp"

#include "profiles/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace ako::profiles {
namespace {

class Filler {
public:
  explicit Filler(const NcuKernel& kernel) : m_kernel(kernel) {}

  double value(std::string_view name) const { return m_kernel.get(name).value_or(k_unknown); }
  /// The first of several spellings that is there.
  template <class... Names> double first(Names... names) const {
    double found = k_unknown;
    ((found = std::isnan(found) ? value(names) : found), ...);
    return found;
  }
  double share(double percent) const { return percent / 100; }
  double ratio(double top, double bottom) const { return bottom > 0 ? top / bottom : k_unknown; }
  template <class... Values> static double sum_known(Values... values) {
    if ((std::isnan(values) && ...)) return k_unknown;
    return (or_zero(values) + ...);
  }
  template <class... Values> static double greatest(Values... values) {
    double most = k_unknown;
    ((most = std::isnan(most) || values > most ? values : most), ...);
    return most;
  }

private:
  const NcuKernel& m_kernel;
};

constexpr const char* k_elapsed = ".avg.pct_of_peak_sustained_elapsed";

void fill_roofs(const Filler& from, Facts& f) {
  auto pipe = [&](const char* name) {
    std::string metric = std::string(name) + k_elapsed;
    std::string active = std::string(name) + ".avg.pct_of_peak_sustained_active";
    return from.share(from.first(std::string_view(metric), std::string_view(active)));
  };
  f.sm = pipe("sm__throughput");
  f.memory = pipe("gpu__compute_memory_throughput");
  f.dram = Filler::greatest(pipe("gpu__dram_throughput"), pipe("dram__throughput"));
  f.l2 = pipe("lts__throughput");
  f.l1 = from.share(from.first("l1tex__throughput.avg.pct_of_peak_sustained_active",
                               "l1tex__throughput.avg.pct_of_peak_sustained_elapsed"));
  f.alu = Filler::greatest(pipe("sm__inst_executed_pipe_alu"), pipe("sm__pipe_alu_cycles_active"));
  f.fma = Filler::greatest(pipe("sm__inst_executed_pipe_fma"), pipe("sm__pipe_fma_cycles_active"),
                           pipe("sm__pipe_fmaheavy_cycles_active"));
  f.fp64 =
      Filler::greatest(pipe("sm__inst_executed_pipe_fp64"), pipe("sm__pipe_fp64_cycles_active"));
  f.xu = pipe("sm__inst_executed_pipe_xu");
  f.lsu = pipe("sm__inst_executed_pipe_lsu");
  f.tensor = Filler::greatest(
      pipe("sm__pipe_tensor_cycles_active"), pipe("sm__pipe_tensor_cycles_active_v2"),
      pipe("sm__pipe_tc_cycles_active"), pipe("sm__inst_executed_pipe_tensor"),
      pipe("sm__pipe_tensor_op_hmma_cycles_active"));
  f.issue = from.first("smsp__issue_active.avg.per_cycle_active");
  if (std::isnan(f.issue))
    f.issue = 1 - from.share(from.value("smsp__issue_inst0.avg.pct_of_peak_sustained_active"));
  double elapsed = from.first("sm__cycles_elapsed.max", "gpc__cycles_elapsed.max");
  if (std::isnan(elapsed))
    elapsed = from.ratio(from.value("sm__cycles_elapsed.sum"), from.value("launch__sm_count"));
  f.sm_active = std::min(1.0, from.ratio(from.value("sm__cycles_active.avg"), elapsed));
  f.occupancy_possible = from.share(from.value("sm__maximum_warps_per_active_cycle_pct"));
  f.occupancy = from.share(from.value("sm__warps_active.avg.pct_of_peak_sustained_active"));
}

void fill_launch(const Filler& from, Facts& f) {
  f.duration_ns = from.first("gpu__time_duration.sum", "gpu__time_duration.avg");
  f.sms = from.value("launch__sm_count");
  if (std::isnan(f.sms)) f.sms = from.value("device__attribute_multiprocessor_count");
  f.grid = from.value("launch__grid_size"), f.block = from.value("launch__block_size");
  f.waves = from.value("launch__waves_per_multiprocessor");
  f.registers = from.value("launch__registers_per_thread");
  f.limit_registers = from.value("launch__occupancy_limit_registers");
  f.limit_shared = from.value("launch__occupancy_limit_shared_mem");
  f.limit_warps = from.value("launch__occupancy_limit_warps");
  f.limit_blocks = from.value("launch__occupancy_limit_blocks");
  f.shared_per_block = Filler::sum_known(from.value("launch__shared_mem_per_block_static"),
                                         from.value("launch__shared_mem_per_block_dynamic"));
}

void fill_instructions(const Filler& from, Facts& f) {
  f.instructions = from.value("smsp__inst_executed.sum");
  f.global_loads = from.value("smsp__sass_inst_executed_op_global_ld.sum");
  f.global_stores = from.value("smsp__sass_inst_executed_op_global_st.sum");
  f.local = Filler::sum_known(from.value("smsp__sass_inst_executed_op_local_ld.sum"),
                              from.value("smsp__sass_inst_executed_op_local_st.sum"));
  if (std::isnan(f.local))
    f.local = Filler::sum_known(from.value("sass__inst_executed_local_loads"),
                                from.value("sass__inst_executed_local_stores"));
  f.spills =
      from.first("sass__inst_executed_register_spilling", "derived__local_spilling_requests");
  f.shared_loads = Filler::sum_known(from.value("smsp__sass_inst_executed_op_shared_ld.sum"),
                                     from.value("smsp__inst_executed_op_ldsm.sum"));
  f.shared_stores = from.value("smsp__sass_inst_executed_op_shared_st.sum");
  f.shared_atomics = from.value("smsp__inst_executed_op_shared_atom.sum");
  f.atomics = Filler::sum_known(from.value("smsp__inst_executed_op_global_red.sum"),
                                from.value("smsp__inst_executed_op_generic_atom_dot_alu.sum"),
                                from.value("smsp__inst_executed_op_generic_atom_dot_cas.sum"),
                                f.shared_atomics);
  // Thread instructions per cycle of the whole device, times the cycles, over 32 lanes.
  double cycles = from.first("gpc__cycles_elapsed.max", "sm__cycles_elapsed.max");
  auto warps = [&](const char* op) {
    std::string stem = std::string("smsp__sass_thread_inst_executed_op_") + op + "_pred_on.sum";
    double sum = from.value(stem);
    return std::isnan(sum) ? from.value(stem + ".per_cycle_elapsed") * cycles / 32 : sum / 32;
  };
  f.ffma = warps("ffma");
  f.fadd_fmul = Filler::sum_known(warps("fadd"), warps("fmul"));
  f.fp64_ops = Filler::sum_known(warps("dadd"), warps("dmul"), warps("dfma"));
  f.lanes = from.value("smsp__thread_inst_executed_per_inst_executed.ratio");
  f.lanes_predicated = from.value("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio");
}

void fill_memory(const Filler& from, Facts& f) {
  auto global = [&](const char* what, const char* op) {
    return from.value(std::string("l1tex__t_") + what + "_pipe_lsu_mem_global_op_" + op + ".sum");
  };
  f.load_requests = global("requests", "ld"), f.store_requests = global("requests", "st");
  f.load_sectors = global("sectors", "ld"), f.store_sectors = global("sectors", "st");
  f.load_sectors_per_request = from.ratio(f.load_sectors, f.load_requests);
  f.store_sectors_per_request = from.ratio(f.store_sectors, f.store_requests);
  if (std::isnan(f.load_sectors_per_request))
    f.load_sectors_per_request =
        from.value("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio");
  if (std::isnan(f.store_sectors_per_request))
    f.store_sectors_per_request =
        from.value("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio");
  f.load_bytes_per_sector =
      from.value("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio");
  f.store_bytes_per_sector =
      from.value("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio");
  double theoretical = from.value("memory_l2_theoretical_sectors_global"),
         ideal = from.value("memory_l2_theoretical_sectors_global_ideal");
  f.excess_sectors = 1 - from.ratio(ideal, theoretical);
  double served = from.value("lts__t_sectors_srcunit_tex.sum");
  f.global_share_of_l2 = std::isnan(served) ? 1.0 : std::min(1.0, from.ratio(theoretical, served));
  double local = Filler::sum_known(from.value("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"),
                                   from.value("l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"));
  f.local_sector_share =
      from.ratio(local, or_zero(local) + or_zero(f.load_sectors) + or_zero(f.store_sectors));
  double wavefronts = from.value("memory_l1_wavefronts_shared"),
         fewest = from.value("memory_l1_wavefronts_shared_ideal");
  f.bank_excess = 1 - from.ratio(fewest, wavefronts);
  f.bank_ways = from.ratio(wavefronts, fewest);
  if (std::isnan(f.bank_excess))
    f.bank_excess = from.ratio(
        Filler::sum_known(from.value("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
                          from.value("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum")),
        Filler::sum_known(from.value("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
                          from.value("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")));
  f.dram_bytes =
      Filler::sum_known(from.value("dram__bytes_read.sum"), from.value("dram__bytes_write.sum"));
}

void fill_stalls(const Filler& from, Facts& f) {
  static constexpr const char* k_all[] = {"barrier",
                                          "branch_resolving",
                                          "dispatch_stall",
                                          "drain",
                                          "gmma",
                                          "imc_miss",
                                          "lg_throttle",
                                          "long_scoreboard",
                                          "math_pipe_throttle",
                                          "membar",
                                          "mio_throttle",
                                          "misc",
                                          "no_instruction",
                                          "not_selected",
                                          "selected",
                                          "short_scoreboard",
                                          "sleeping",
                                          "tex_throttle",
                                          "wait"};
  auto stall = [&](const char* reason) {
    return from.value(std::string("smsp__average_warps_issue_stalled_") + reason +
                      "_per_issue_active.ratio");
  };
  double all = 0;
  for (const char* reason : k_all) all += or_zero(stall(reason));
  if (all <= 0) return;
  f.long_scoreboard = stall("long_scoreboard") / all,
  f.short_scoreboard = stall("short_scoreboard") / all;
  f.barrier = stall("barrier") / all, f.lg_throttle = stall("lg_throttle") / all,
  f.mio_throttle = stall("mio_throttle") / all;
  f.membar = stall("membar") / all, f.no_instruction = stall("no_instruction") / all;
  f.math_throttle = stall("math_pipe_throttle") / all, f.wait = stall("wait") / all,
  f.drain = stall("drain") / all;
}

/// The number right before `after` in `text` ("... 88% of the total" with after = "% of the
/// total").
double number_before(const std::string& text, std::string_view after, std::size_t from = 0) {
  std::size_t end = text.find(after, from);
  if (end == std::string::npos) return k_unknown;
  std::size_t begin = end;
  while (begin > 0 &&
         (std::isdigit(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '.'))
    --begin;
  return parse_number(std::string_view(text).substr(begin, end - begin), DecimalMark::point)
      .value_or(k_unknown);
}

/// What only the rules' sentences hold when the raw page is missing.
void read_rule(const NcuRule& rule, Facts& f) {
  const std::string& text = rule.text;
  auto says = [&](std::string_view what) { return text.find(what) != std::string::npos; };
  auto keep = [](double& slot, double value) {
    if (std::isnan(slot) || value > slot) slot = value;
  };
  if (rule.name == "UncoalescedGlobalAccess")
    keep(f.excess_sectors, number_before(text, "% of the total") / 100), f.global_share_of_l2 = 1;
  if (rule.name == "UncoalescedSharedAccess")
    keep(f.bank_excess, number_before(text, "% of the total") / 100);
  if (rule.name == "SharedMemoryConflicts")
    keep(f.bank_ways, number_before(text, " - way bank conflict"));
  if (rule.name == "SOLFPRoofline")
    f.fp32_peak_share = number_before(text, "% of this device's FP32 peak") / 100;
  if (rule.name == "HighPipeUtilization" && says("is the highest-utilized pipeline")) {
    double used = number_before(text, "%) based on") / 100;
    if (std::isnan(used)) used = number_before(text, "%)") / 100;
    if (text.starts_with("FMA")) f.fma = used;
    else if (text.starts_with("ALU")) f.alu = used;
    else if (text.starts_with("FP64") || text.starts_with("DP")) f.fp64 = used;
    else if (text.starts_with("XU")) f.xu = used;
    else if (text.starts_with("Tensor")) f.tensor = used;
  }
  if (rule.name != "CPIStall") return;
  double share = number_before(text, "% of the total average") / 100;
  if (says("L1TEX (local, global")) f.long_scoreboard = share;
  else if (says("MIO (memory input/output) instruction queue")) f.mio_throttle = share;
  else if (says("local/global") || says("L1 instruction queue for local and global"))
    f.lg_throttle = share;
  else if (says("scoreboard dependency on")) f.short_scoreboard = share;
  else if (says("CTA barrier") || says("sibling warps at a")) f.barrier = share;
  else if (says("instruction fetch") || says("instruction cache")) f.no_instruction = share;
  else if (says("memory barrier")) f.membar = share;
}

} // namespace

Facts facts_of(const NcuKernel& kernel) {
  Facts facts;
  Filler from(kernel);
  facts.kernel_name = kernel.name;
  fill_roofs(from, facts);
  fill_launch(from, facts);
  fill_instructions(from, facts);
  fill_memory(from, facts);
  fill_stalls(from, facts);
  facts.from_details = std::isnan(facts.long_scoreboard);
  if (facts.from_details)
    for (const NcuRule& rule : kernel.rules) read_rule(rule, facts);
  return facts;
}

} // namespace ako::profiles
