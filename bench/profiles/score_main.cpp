// bench_profiles_score [tune|report|all]: how often the planted cause of a capture is the first
// finding, and among the first two, beside ncu's own rules (the one with the largest estimate, and
// the largest global one) on the same set.
#include "base/fs.hpp"
#include "profiles/diagnose.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace ako;

namespace {

struct Planted {
  std::string name, id, kind, half;
};

std::vector<Planted> manifest(const std::filesystem::path& folder) {
  std::ifstream file(folder / "manifest.csv");
  std::vector<Planted> all;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    Planted one;
    std::getline(in, one.name, ','), std::getline(in, one.id, ','), std::getline(in, one.kind, ','),
        std::getline(in, one.half, ',');
    all.push_back(one);
  }
  return all;
}

/// Does the rule name the cause? Read generously: any sentence that points at it counts.
bool names(const profiles::NcuRule& rule, const std::string& id) {
  auto says = [&](const char* what) { return rule.text.find(what) != std::string::npos; };
  const std::string& name = rule.name;
  if (name == "UncoalescedGlobalAccess" || name == "MemoryCacheAccessPattern")
    return id == "uncoalesced_global_access" ||
           (says("local") && (id == "register_spills" || id == "local_memory_indexing"));
  if (name == "SharedMemoryConflicts" || name == "UncoalescedSharedAccess")
    return id == "shared_bank_conflicts";
  if (name == "ThreadDivergence") return id == "warp_divergence";
  if (name == "WorkloadImbalance") return id == "block_imbalance" || id == "tail_wave";
  if (name == "TheoreticalOccupancy")
    return (id == "occupancy_registers" && says("registers")) ||
           (id == "occupancy_shared_memory" && says("shared memory")) ||
           (id == "occupancy_block_size" && (says("block") || says("warps")));
  if (name == "LaunchConfiguration")
    return id == "small_grid" || id == "tail_wave" || id == "occupancy_block_size";
  if (name == "HighPipeUtilization")
    return says("highest-utilized") && ((says("FMA") && id == "compute_bound_fp32") ||
                                        (says("ALU") && id == "compute_bound_int") ||
                                        (says("FP64") && id == "compute_bound_fp64") ||
                                        (says("XU") && id == "compute_bound_sfu") ||
                                        (says("ensor") && id == "compute_bound_tensor"));
  if (name == "CPIStall")
    return (says("L1TEX") && id == "memory_latency") ||
           (says("barrier") && id == "barrier_stalls") ||
           (says("instruction cache") && id == "instruction_cache") ||
           (says("local and global") && id == "atomic_contention");
  return false;
}

bool top_rule_names(const profiles::NcuKernel& kernel, const std::string& id, bool global_only) {
  const profiles::NcuRule* top = nullptr;
  for (const auto& rule : kernel.rules) {
    if (rule.type != "OPT" || !rule.speedup_pct || (global_only && rule.speedup_kind != "global"))
      continue;
    if (!top || *rule.speedup_pct > *top->speedup_pct) top = &rule;
  }
  return top && names(*top, id);
}

} // namespace

int main(int argc, char** argv) {
  const std::string half = argc > 1 ? argv[1] : "report";
  const std::filesystem::path folder = argc > 2 ? argv[2] : AKO_SOURCE_DIR "/tests/golden/ncu/h200";
  int all = 0, first = 0, two = 0, rule = 0, global_rule = 0;
  for (const Planted& one : manifest(folder)) {
    if (half != "all" && one.half != half) continue;
    ++all;
    auto report = profiles::diagnose_file(folder / (one.name + ".raw.csv"));
    auto text = base::read_file(folder / (one.name + ".details.csv"));
    auto details = text ? profiles::read_ncu(*text, one.name) : tl::unexpected(text.error());
    if (!report || report->kernels.size() != 1 || !details || details->kernels.size() != 1) {
      std::printf("UNREAD %s\n", one.name.c_str());
      continue;
    }
    const auto& findings = report->kernels[0].findings;
    bool is_first = !findings.empty() && findings[0].id == one.id;
    bool in_two = is_first || (findings.size() > 1 && findings[1].id == one.id);
    first += is_first, two += in_two;
    rule += top_rule_names(details->kernels[0], one.id, false),
        global_rule += top_rule_names(details->kernels[0], one.id, true);
    if (!is_first)
      std::printf("%s %s: planted %s, first %s, second %s\n", in_two ? "second" : "missed",
                  one.name.c_str(), one.id.c_str(), findings.empty() ? "-" : findings[0].id.c_str(),
                  findings.size() < 2 ? "-" : findings[1].id.c_str());
  }
  if (all == 0) return std::printf("no capture of the half '%s'\n", half.c_str()), 2;
  auto line = [&](const char* what, int count) {
    std::printf("%-38s %3d of %3d  %5.1f %%\n", what, count, all, 100.0 * count / all);
  };
  line("planted cause first", first), line("planted cause in the first two", two);
  line("ncu: rule with the largest estimate", rule),
      line("ncu: largest global estimate", global_rule);
  return 0;
}
